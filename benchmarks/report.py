"""The figures as a Markdown table."""

PARTS = ["encoder", "decoder", "readout", "optimiser"]
HEAD = [
    "model",
    "attention",
    "size",
    "precision",
    "contestant",
    "tokens/s",
    "time to ours",
    "range",
    "an operation",
    "GFLOP/s",
    "of peak",
]
HEAD += ["peak MiB", "of it training", *(f"{phase} ms" for phase in PARTS), "data ms"]


def table(facts: dict, experiments: list[dict]) -> str:
    """What was measured where, and a row for every contestant: medians over batches, and the range of a ratio."""
    lines = [
        f"{facts['gpu'] if facts['device'] == 'cuda' else facts['cpu']}, {facts['threads']} threads pinned to cores "
        f"{facts['cores']}, torch {facts['torch']}; {facts['batches']} batches; load {facts['load_average'][0]:.1f}",
        "",
        row(HEAD),
        row(["---"] * 5 + ["---:"] * (len(HEAD) - 5)),
    ]
    for experiment in experiments:
        lines += [row(cells(experiment, name)) for name in experiment["contestants"]]
    lines.append("")
    for experiment in experiments:
        peaks = ", ".join(f"{peak / 1e9:.0f}" for peak in experiment["peak_operations_per_second"])
        total = sum(experiment["operations"].values())
        shares = ", ".join(f"{phase} {count / total:.0%}" for phase, count in experiment["operations"].items())
        lines.append(
            f"* {experiment['model']} {experiment['attention']} {experiment['size']} {experiment['precision']}: "
            f"torch.mm 2048^3 before and after {peaks} GFLOP/s, nn.GRU as wide as the decoder "
            f"{experiment['gru_operations_per_second'] / 1e9:.0f}; padding {experiment['source_padding']:.1%} of "
            f"source and {experiment['target_padding']:.1%} of target positions; operations: {shares}"
        )
    return "\n".join(lines)


def cells(experiment: dict, name: str) -> list[str]:
    figures = experiment["contestants"][name]
    parts = [figures["part_seconds"].get(phase) for phase in PARTS] + [experiment["data_seconds"]]
    return [
        *(experiment[what] for what in ("model", "attention", "size", "precision")),
        name,
        f"{figures['target_tokens_per_second']:,.0f}",
        f"{figures['times_as_long_as'].get('ours', float('nan')):.2f}",
        "{:.2f} to {:.2f}".format(*figures["range_as_long_as"].get("ours", (float("nan"),) * 2)),
        f"{figures['times_as_long_an_operation_as'].get('ours', float('nan')):.2f}",
        f"{figures['operations_per_second'] / 1e9:.1f}",
        f"{figures['share_of_peak']:.0%}",
        f"{figures['memory']['peak']:,.0f}" if figures["memory"] else "",
        f"{figures['memory']['training']:,.0f}" if "training" in figures["memory"] else "",
        *("" if seconds is None else f"{1000 * seconds:.1f}" for seconds in parts),
    ]


def row(words: list[str]) -> str:
    return "| " + " | ".join(words) + " |"

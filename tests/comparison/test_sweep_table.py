"""The table with which a sweep ends."""

from support.handmade_runs import run

from unrolled.comparison.sweep_table import sweep_table


def job(number, seed, bleu, status="completed", **options):
    found = {"val/bleu": bleu, "epochs": 3} | ({"test/aer": 0.125} if status == "completed" else {})
    monitored = {"objective.monitor": "val/bleu", "objective.mode": "max"}
    return run(f"{number}-x-seed{seed}", seed=seed, status=status, results=found, **monitored, **options)


def test_a_row_for_each_run_and_a_star_for_the_best_that_completed():
    runs = [job(0, 1, 20.0, lr=0.1), job(1, 2, 31.25, lr=0.1), job(2, 1, 99.0, "pruned", lr=0.2)]
    assert sweep_table(runs) == (
        "job  lr   seed  status     epochs  val/bleu  test AER, %\n"
        "0    0.1  1     completed       3        20        12.50\n"
        "1    0.1  2     completed       3     31.25        12.50  *\n"
        "2    0.2  1     pruned          3        99            –\n"
    )


def test_models_that_are_judged_by_words_have_their_word_error_rate():
    found = {"val/word_error_rate": 41.5, "test/word_error_rate": 43.25, "test/bleu": 60.0}
    (head, row) = sweep_table([run("0-x", results=found, **{"objective.monitor": "val/word_error_rate"})]).splitlines()
    assert head.split()[-6:] == ["val/word_error_rate", "test", "BLEU", "test", "WER,", "%"]
    assert row.split()[-3:] == ["41.5", "60.00", "43.25"]


def test_language_models_have_their_perplexity():
    found = {"val/perplexity": 20.0, "test/perplexity": 21.25, "epochs": 1}
    (head, row) = sweep_table([run("0-x", results=found, **{"objective.monitor": "val/perplexity"})]).splitlines()
    assert head.split()[-3:] == ["val/perplexity", "test", "perplexity"]
    assert row.split()[-2:] == ["20", "21.25"]


def test_runs_that_do_not_say_what_was_monitored_are_judged_by_the_lowest_loss():
    lines = sweep_table([run(f"{n}-x", lr=n, results={"val/loss": loss}) for n, loss in enumerate((3.0, 2.0, 4.0))])
    assert [line.startswith("1 ") for line in lines.splitlines() if line.endswith("*")] == [True]


def test_a_choice_and_the_class_that_was_put_in_its_place_have_columns_of_their_own():
    parts = [("bahdanau", "x.A"), ("bahdanau", "x.B"), ("dot", "x.B")]
    runs = [
        run(f"{n}-x", **{"choices.attention": choice, "attention._target_": target})
        for n, (choice, target) in enumerate(parts)
    ]
    assert sweep_table(runs).split()[:3] == ["job", "attention", "attention._target_"]


def test_one_run_and_runs_without_a_figure_have_no_star():
    assert "*" not in sweep_table([job(0, 1, 20.0)])
    assert "*" not in sweep_table([job(0, 1, None, "diverged"), job(1, 2, None, "diverged")])

"""A program or notebook whose PyTorch has other settings gets the same results, and keeps its settings."""

import threading
from contextlib import ExitStack, contextmanager
from itertools import islice

import pytest
import torch
from api.conftest import OPTIONS, SIZES
from support.run_contents import same_weights

import unrolled
from unrolled.api.checked_part import rows
from unrolled.api.torch_settings import usual_settings
from unrolled.configuration.composition import composed


@contextmanager
def float64():
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


SETTINGS = {
    "float64": float64,
    "another device": lambda: torch.device("meta"),
    "no gradients": torch.no_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
}


def settings():
    return (
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
    )


def results(translator, language_model):
    run, model = unrolled.load(translator), unrolled.load(language_model)
    (best, _), seen = run.translate("a b c", nbest=2, beam_size=3), run.attend("a b c", "B A")
    return (
        (best.text, best.score, best.attention.weights.tolist()),
        (run.score("a b c", "B A").log_probability, seen.weights.tolist(), seen.memory.tolist()),
        (model.score(["C B A"], context="text")[0].log_probability, model.sample(2)),
    )


@pytest.mark.parametrize("name", SETTINGS)
def test_trained_runs_give_the_same(name, translator, language_model):
    expected = results(translator, language_model)
    with SETTINGS[name]():
        before = settings()
        assert results(translator, language_model) == expected
        assert settings() == before


def test_training_gives_the_same(train_here, pairs):
    def train():
        return train_here(*OPTIONS, attention="gru_att", data=pairs, **SIZES, **{"trainer.max_steps": 2})

    expected = train()
    with ExitStack() as stack:
        for chosen in SETTINGS.values():
            stack.enter_context(chosen())
        torch.set_grad_enabled(False)  # inference mode, which ends before it, takes this back
        before = settings()
        found = train()
        assert settings() == before
    assert same_weights(found.folder, expected.folder)
    assert found.results["test/perplexity"] == expected.results["test/perplexity"]


def test_promises_are_tried_with_gradients():
    tried = rows(composed("check", ["model=rnn_lm", "cost=false"]))
    with torch.no_grad():
        (row,) = (row for row in islice(tried, 7) if row["promise"] == "step by step equals unrolled")
    assert row["result"] == "kept", row["why"]


def test_reading_weights_draws_nothing_of_the_programs_random_numbers(translator, language_model):
    before = torch.get_rng_state()
    for run in (translator, language_model):
        unrolled.load(run).ready()
    assert torch.equal(torch.get_rng_state(), before)


def test_threads_leave_the_type_that_the_program_has_chosen():
    first, second = threading.Event(), threading.Event()

    def one():
        with usual_settings():
            first.set()
            second.wait(5)

    with float64():
        thread = threading.Thread(target=one)
        thread.start()
        first.wait(5)
        with usual_settings():
            second.set()
            thread.join()
            assert torch.get_default_dtype() == torch.float32  # the other's block has ended, and not this one
        assert torch.get_default_dtype() == torch.float64

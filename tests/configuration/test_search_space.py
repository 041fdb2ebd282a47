"""The search space that a command line gives."""

import pytest

from unrolled.configuration.search_space import search_space

distributions = pytest.importorskip("optuna.distributions", reason="the extra 'sweep' is not installed")
Categories, Floats, Ints = (getattr(distributions, f"{kind}Distribution") for kind in ("Categorical", "Float", "Int"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("choice(64,128)", Categories([64, 128])),
        ("choice(gru,lstm)", Categories(["gru", "lstm"])),
        ("choice([a,b],[c,d])", Categories(["[a,b]", "[c,d]"])),
        ("8,16", Categories([8, 16])),
        ("range(2,8,3)", Ints(2, 8, step=3)),
        ("range(2,9,3)", Ints(2, 8, step=3)),
        ("range(0.0,0.5,0.1)", Floats(0.0, 0.5, step=0.1)),
        ("int(interval(1,5))", Ints(1, 5)),
        ("interval(1,5)", Floats(1, 5)),
        ("interval(0,0.5)", Floats(0, 0.5)),
        ("tag(log,interval(1e-4,1e-2))", Floats(1e-4, 1e-2, log=True)),
        ("int(tag(log,interval(16,256)))", Ints(16, 256, log=True)),
    ],
)
def test_a_sweep_of_hydras_syntax_becomes_a_distribution(value, expected):
    space, fixed = search_space([f"model.size={value}", "seed=3", "model.tied=true"])
    assert space == {"model.size": expected}
    assert fixed == {"seed": "3", "model.tied": "True"}


def test_a_shuffled_range_is_a_choice_of_its_values():
    ((_, distribution),) = search_space(["seed=shuffle(range(1,4))"])[0].items()
    assert sorted(distribution.choices) == [1, 2, 3]

"""Some mistaken configurations of each kind; all of them: python tests/campaign/configurations.py."""

from collections import defaultdict

import pytest

from campaign.configurations import cases, outcome, prepare

EACH = 3


def some():
    """The first few of each kind, in the order that the seed drew."""
    kinds = defaultdict(list)
    for case in cases(seed=1):
        kinds[case.kind].append(case)
    return [case for kind in sorted(kinds) for case in kinds[kind][:EACH]]


def test_there_are_hundreds_to_try():
    assert len(cases(seed=1)) >= 300
    assert cases(seed=1) == cases(seed=1) != cases(seed=2)


@pytest.mark.parametrize("case", some(), ids=lambda case: f"{case.script} {' '.join(case.arguments)[:60]}")
def test_a_mistaken_configuration_is_refused_with_one_line(case, tmp_path):
    prepare(tmp_path)
    assert outcome(case, tmp_path) == "refused"

import pytest
import torch

from unrolled.errors import UserError
from unrolled.training.schedule import constant, halve_on_plateau, inverse_square_root, linear_decay, warm_up, warms_up


def rates(schedule, count, updates=None, **options):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    options |= {"monitor": "val/bleu", "mode": "max", "length": lambda: updates}
    scheduler = schedule(optimizer, **options)["scheduler"]
    found = []
    for _ in range(count):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


def test_constant_has_no_scheduler():
    assert constant(torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]), monitor="m", mode="min", length=None) is None


def test_warm_up_is_linear_and_then_constant():
    assert rates(warm_up, 6, steps=4) == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0, 1.0])


def test_inverse_square_root_falls_after_warm_up():
    assert rates(inverse_square_root, 16, steps=4)[3:16:12] == pytest.approx([1.0, 0.5])


@pytest.mark.parametrize(
    ("schedule", "options", "last"),
    [
        (warm_up, {"steps": 4}, 3),
        (inverse_square_root, {"steps": 4}, 3),
        (linear_decay, {"steps": 9, "warm_up": 4}, 3),
        (linear_decay, {"steps": None, "warm_up": 4}, 3),
        (linear_decay, {"steps": 9}, 0),
        (constant, {}, 0),
    ],
)
def test_a_warm_up_is_unfinished_until_the_learning_rate_was_reached(schedule, options, last):
    options |= {"monitor": "val/bleu", "mode": "max", "length": lambda: 5}
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = (schedule(optimizer, **options) or {}).get("scheduler")
    assert [warms_up(scheduler, updates) for updates in range(7)] == [1 <= updates <= last for updates in range(7)]


@pytest.mark.parametrize(("mode", "values"), [("max", [5.0, 4.0, 5.0]), ("min", [5.0, 6.0, 5.0])])
def test_plateau_halves_when_the_figure_stops_improving(mode, values):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    options = {"monitor": "val/bleu", "mode": mode, "length": None, "factor": 0.5, "minimum": 0.1}
    schedule = halve_on_plateau(optimizer, patience=1, **options)
    assert schedule["monitor"] == "val/bleu"
    for value in values:
        schedule["scheduler"].step(value)
    assert optimizer.param_groups[0]["lr"] == 0.5
    for _ in range(20):
        schedule["scheduler"].step(values[0])
    assert optimizer.param_groups[0]["lr"] == 0.1


def test_a_validation_is_seen_once_also_after_an_interruption():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    options = {"monitor": "val/bleu", "mode": "max", "length": None, "factor": 0.5, "minimum": 0.0}
    scheduler = halve_on_plateau(optimizer, patience=0, **options)["scheduler"]
    for validated, figure in [(8, 1.0), (8, 1.0), (16, 2.0), (16, 2.0)]:  # of four epochs two without a validation
        scheduler.look(figure, validated)
    assert optimizer.param_groups[0]["lr"] == 1.0
    resumed = halve_on_plateau(optimizer, patience=0, **options)["scheduler"]
    resumed.load_state_dict(scheduler.state_dict())
    resumed.look(2.0, 16)
    assert optimizer.param_groups[0]["lr"] == 1.0
    resumed.look(2.0, 24)
    assert optimizer.param_groups[0]["lr"] == 0.5


@pytest.mark.parametrize(("mode", "values"), [("max", [5.0, 5.0001, 5.0002]), ("min", [5.0, 4.9999, 4.9998])])
def test_the_smallest_improvement_is_one(mode, values):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    options = {"monitor": "val/bleu", "mode": mode, "length": None, "factor": 0.5, "minimum": 0.1}
    schedule = halve_on_plateau(optimizer, patience=0, **options)
    for value in values:
        schedule["scheduler"].step(value)
    assert optimizer.param_groups[0]["lr"] == 1.0
    schedule["scheduler"].step(values[-1])
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_linear_decay_ends_at_zero_and_stays_there():
    assert rates(linear_decay, 6, steps=4, warm_up=0) == pytest.approx([1.0, 0.75, 0.5, 0.25, 0.0, 0.0])


def test_linear_decay_takes_all_of_the_training_unless_it_is_told():
    assert rates(linear_decay, 3, updates=2, steps=None, warm_up=0) == pytest.approx([1.0, 0.5, 0.0])
    assert rates(linear_decay, 3, updates=2, steps=4, warm_up=0) == pytest.approx([1.0, 0.75, 0.5])


@pytest.mark.parametrize(("steps", "updates"), [(6, None), (None, 6)])
def test_linear_decay_rises_first_if_it_is_to(steps, updates):
    expected = [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    assert rates(linear_decay, 8, updates=updates, steps=steps, warm_up=2) == pytest.approx(expected)


def test_linear_decay_of_a_training_shorter_than_its_warm_up_ends_at_zero():
    assert rates(linear_decay, 4, updates=2, steps=None, warm_up=2) == pytest.approx([0.5, 1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("schedule", "options"), [(warm_up, {}), (inverse_square_root, {}), (linear_decay, {"warm_up": 0})]
)
def test_a_schedule_without_steps_is_a_users_mistake(schedule, options):
    with pytest.raises(UserError, match=r"schedule\.steps=0"):
        rates(schedule, 1, steps=0, **options)


def test_a_negative_warm_up_is_a_users_mistake():
    with pytest.raises(UserError, match=r"schedule\.warm_up=-1"):
        rates(linear_decay, 1, steps=9, warm_up=-1)

"""The compiler is imported when it is needed, and then is the real one."""

import json
import os
import subprocess
import sys

import pytest
from support.scripts import ROOT

PROGRAMS = {
    "training does not need it": (
        "layer = torch.nn.Linear(2, 2); optimizer = torch.optim.Adam(layer.parameters(), fused=True);"
        "layer(torch.ones(1, 2)).sum().backward(); optimizer.step(); optimizer.zero_grad(); optimizer.state_dict();"
        "assert not isinstance(layer, __import__('torch._dynamo')._dynamo.OptimizedModule);"
        "assert 'sympy' not in sys.modules and 'torch._dynamo.eval_frame' not in sys.modules"
    ),
    "compiling loads it": (
        "kept = torch.compiler.disable(lambda x: x + 1); stand_in = torch._dynamo.OptimizedModule;"
        "assert kept(1) == 2;"
        "compiled = torch.compile(torch.nn.Linear(2, 2), backend='eager');"
        "compiled(torch.ones(1, 2)); assert isinstance(compiled, stand_in);"
        "assert not isinstance(torch.nn.Linear(2, 2), stand_in); assert kept(1) == 2;"
        "assert torch._dynamo is sys.modules['torch._dynamo'];"
        "from torch._dynamo import OptimizedModule as real; assert isinstance(compiled, real) and real is not stand_in"
    ),
    "a part of it loads the whole": (
        "import torch._dynamo.eval_frame as part; assert torch._dynamo.eval_frame is part;"
        "assert torch._dynamo.OptimizedModule is part.OptimizedModule; assert part.__spec__.origin"
    ),
    "its configuration, which takes no attribute, comes first": (
        "import torch._dynamo.config as part; assert torch._dynamo.config is part;"
        "from torch._dynamo.utils import config as used; assert used is part; assert part.__spec__.origin"
    ),
    "a second time changes nothing": "before = torch._dynamo; postpone(); assert torch._dynamo is before",
}


EACH_IN_A_COPY = """
import json, os, sys, torch, traceback
from unrolled.training.postponed_compiler import postpone
assert "torch._dynamo" not in sys.modules
for name, program in json.loads(sys.argv[1]).items():
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            postpone()
            exec(program, {"sys": sys, "torch": torch, "postpone": postpone})
        except BaseException:
            os.write(writing, traceback.format_exc().encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as problem:
        print(json.dumps([name, problem.read()]))
    _, status = os.wait()
    assert status == 0
"""
"""A fresh interpreter that has imported PyTorch, which takes seconds, runs each program in a copy of itself."""


@pytest.fixture(scope="module")
def problems():
    """What each of PROGRAMS says of its failure, by its name."""
    command = [sys.executable, "-c", EACH_IN_A_COPY, json.dumps(PROGRAMS)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_compiler_is_there_when_it_is_needed(name, problems):
    assert problems[name] == ""

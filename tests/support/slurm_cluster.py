"""A SLURM cluster of this machine alone: sbatch, srun, scontrol and sacct, as far as submitit asks for them."""

import random
import socket
import sys
from pathlib import Path

SBATCH = """
    script = HERE / "script"  # as SLURM does, it keeps its own: submitit renames the file as soon as sbatch ends
    script.write_text(Path(sys.argv[-1]).read_text())
    options = dict(re.findall(r"#SBATCH --([a-z-]+)=(.*)", script.read_text()))
    nodes, tasks = int(options["nodes"]), int(options["ntasks-per-node"])
    slurm = {"JOB_ID": JOB, "JOB_NUM_NODES": nodes, "NNODES": nodes, "NTASKS": nodes * tasks, "NTASKS_PER_NODE": tasks}
    slurm |= {"JOB_NAME": "unrolled", "JOB_NODELIST": "localhost", "NODELIST": "localhost"}
    env = os.environ | {f"SLURM_{name}": str(value) for name, value in slurm.items()} | {"MASTER_ADDR": "127.0.0.1"}
    again = f"while bash {script}; [ -e {HERE}/requeued ]; do rm {HERE}/requeued; done"
    subprocess.Popen(["bash", "-c", again], env=env, start_new_session=True, stdout=log, stderr=log, stdin=null)
    print("Submitted batch job", JOB)
"""
SRUN = """
    given, tasks = sys.argv[1:], int(os.environ["SLURM_NTASKS"])
    out = Path(given[given.index("--output") + 1].replace("%j", JOB))
    while not (out.parent / f"{JOB}_submitted.pkl").exists():  # submitit writes it when it knows the job's number
        time.sleep(0.01)
    command = given[given.index("--error") + 2 :]
    running = []
    for task in range(tasks):
        nodes = int(os.environ["SLURM_NNODES"])
        each = tasks // nodes
        where = {"SLURM_PROCID": task, "SLURM_LOCALID": task % each, "SLURM_NODEID": task // each, "SLURM_STEP_ID": 0}
        where |= {"SLURM_STEP_NUM_TASKS": tasks, "SLURM_STEP_NUM_NODES": nodes}
        where |= {"SLURM_STEP_TASKS_PER_NODE": f"{each}(x{nodes})" if nodes > 1 else each}
        file = open(str(out).replace("%t", str(task)), "a")
        env = os.environ | {name: str(value) for name, value in where.items()}
        running.append(subprocess.Popen(command, env=env, stdout=file, stderr=file))
    for process in running:
        process.wait()
"""
SCONTROL = """
    assert sys.argv[1:] == ["requeue", JOB]
    (HERE / "requeued").touch()
"""
SACCT = """
    print(f"JobID|State|NodeList\\n{JOB}|RUNNING|localhost")
"""


def make_cluster(folder: Path) -> str:
    """Put the commands into ``folder``; returns it, for PATH."""
    folder.mkdir()
    job = str(_free())
    for name, body in {"sbatch": SBATCH, "srun": SRUN, "scontrol": SCONTROL, "sacct": SACCT}.items():
        head = f"#!{sys.executable}\nimport os, re, subprocess, sys, time\nfrom pathlib import Path\n"
        head += f"JOB = {job!r}\nHERE = Path({str(folder)!r})\n"
        head += "log, null = open(HERE / 'log', 'a'), subprocess.DEVNULL\n"
        path = folder / name
        path.write_text(head + "\n".join(line[4:] for line in body.splitlines()) + "\n")
        path.chmod(0o755)
    return str(folder)


def _free() -> int:
    """The number of a job whose processes find the port free that Lightning makes of it; other tests have their own."""
    for number in random.SystemRandom().sample(range(1000, 10_000), 100):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", 15_000 + number)):
                return number
    raise OSError("no free port")

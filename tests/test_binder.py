"""Rehearse the Binder image as far as that goes without docker.

Not covered: the real build, the conda base, the size of the image, the limits of a real pod. The
longer rehearsal (fresh environment with the pins, postBuild, tour) is ``.ci/binder-rehearsal``.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
BINDER = ROOT / "binder"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Binder images run Linux")

RENDER = """
import json, sys
from repo2docker.app import Repo2Docker
import os
app = Repo2Docker()
os.chdir(sys.argv[1])
for pack in app.buildpacks:
    pack = pack(app.base_image)
    pack.platform = "linux/amd64"
    if pack.detect():
        print(json.dumps({
            "name": type(pack).__name__,
            "python": pack.python_version,
            "preassemble": str(pack.get_preassemble_scripts()),
            "assemble": str(pack.get_assemble_scripts()),
            "post": str(pack.get_post_build_scripts()),
            "start": str(pack.get_start_script()),
        }))
        break
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what decides the image: the folder binder and the project's metadata."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(BINDER, folder / "binder")
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_image_is_rendered(checkout):
    """Same arguments as BinderHub passes; prints the Dockerfile, needs no docker."""
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", "--user-id", "1000"]
    command += ["--user-name", "jovyan", "--Repo2Docker.default_buildpack=None", str(checkout)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "binder/postBuild" in done.stdout + done.stderr


def test_image_has_python_pins_postbuild_and_start(checkout):
    done = subprocess.run(
        [sys.executable, "-c", RENDER, str(checkout)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    image = json.loads(done.stdout)
    assert image["name"] == "PythonBuildPack"
    assert image["python"] == "3.13"
    # installed before our files are copied: the slow layer is reused by every later commit
    assert "binder/requirements.txt" in image["preassemble"]
    assert "pip install" not in image["assemble"]
    assert "binder/postBuild" in image["post"]
    assert "binder/start" in image["start"]


def _pins() -> dict[str, Requirement]:
    lines = (BINDER / "requirements.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    return {canonicalize_name(pin.name): pin for pin in pins}


def test_the_pythons_of_the_project_the_lock_and_the_image_agree():
    """The range is that of the classifiers; what has to hold is run on both its ends."""
    text = (ROOT / "pyproject.toml").read_text()
    project = tomllib.loads(text)["project"]
    named = re.findall(r"Python :: 3\.(\d+)", "\n".join(project["classifiers"]))
    minors = sorted(map(int, named))
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert project["requires-python"] == f">=3.{minors[0]}"
    assert tomllib.loads((ROOT / "uv.lock").read_text())["requires-python"] == f">=3.{minors[0]}"
    assert tomllib.loads(text)["tool"]["ruff"]["target-version"] == f"py3{minors[0]}"
    assert tomllib.loads(text)["tool"]["mypy"]["python_version"] == f"3.{minors[0]}"
    image = (BINDER / "runtime.txt").read_text().strip().removeprefix("python-3.")
    assert int(image) in minors
    said = f"runs on 3.{minors[0]} and 3.{minors[-1]}, every notebook also on 3.{image}"
    assert said in (ROOT / "README.md").read_text("utf-8")


def test_every_line_is_a_pin_and_none_is_local():
    for line in (BINDER / "requirements.txt").read_text().splitlines():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[^ ]+( ; .+)?", line), line
    assert "nonsmooth-explorer" not in _pins()


def test_pins_satisfy_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["project"]["dependencies"]
    wanted = wanted + project["project"]["optional-dependencies"]["voila"]
    wanted = wanted + project["project"]["optional-dependencies"]["control"]
    wanted = wanted + project["build-system"]["requires"] + ["editables"]
    pins = _pins()
    for requirement in map(Requirement, wanted):
        pin = pins[canonicalize_name(requirement.name)]
        (version,) = pin.specifier
        assert requirement.specifier.contains(version.version), f"{requirement} but {pin}"


@pytest.mark.parametrize(
    ("limit", "threads"), [("1.0", "1"), ("0.5", "1"), ("2.7", "2"), ("", "1"), (None, "1")]
)
def test_start_sizes_the_thread_pools_and_runs_its_arguments(limit, threads):
    environment = {"PATH": os.environ["PATH"]} | ({} if limit is None else {"CPU_LIMIT": limit})
    show = "import json, os, sys; print(json.dumps([dict(os.environ), sys.argv[1:]]))"
    done = subprocess.run(
        [BINDER / "start", sys.executable, "-c", show, "a b", "--c"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    variables, arguments = json.loads(done.stdout)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        assert variables[name] == threads
    assert variables["NUMBA_CPU_NAME"] == "generic"
    assert arguments == ["a b", "--c"]


@pytest.mark.parametrize("name", ["postBuild", "start", "lock.sh"])
def test_scripts_are_executable_and_parse(name):
    assert os.access(BINDER / name, os.X_OK)
    subprocess.run(["bash", "-n", BINDER / name], check=True)


def test_postbuild_compiles_for_any_processor():
    text = (BINDER / "postBuild").read_text()
    assert text.index("NUMBA_CPU_NAME=generic") < text.index("python -m explorer --warm")
    assert "--no-deps --no-build-isolation -e ." in text


def _kernels(checkout: Path, processor: str, work: str) -> dict[str, list[int]]:
    code = f"import json; from explorer.kernels import jit; {work}"
    code += "; print(json.dumps(jit.cache_statistics()))"
    environment = os.environ | {
        "NUMBA_CPU_NAME": processor,
        "NONSMOOTH_EXPLORER_CACHE": str(checkout / "cache"),
        "PYTHONPATH": str(checkout),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=checkout, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_kernels_of_the_image_are_loaded_in_a_session(tmp_path):
    """Images store whole seconds of modification times; the session runs on another node."""
    shutil.copytree(
        ROOT / "explorer", tmp_path / "explorer", ignore=shutil.ignore_patterns("__pycache__")
    )
    some = "import explorer.kernels.model.held_inputs"  # with what it calls: all take minutes
    built = _kernels(tmp_path, "generic", some)
    assert built
    assert all(missed for _, missed in built.values())

    for file in tmp_path.rglob("*"):
        os.utime(file, (int(file.stat().st_mtime),) * 2)
    loaded = _kernels(tmp_path, "generic", some)
    assert loaded.keys() == built.keys()
    assert any(found for found, _ in loaded.values())
    assert not any(missed for _, missed in loaded.values()), loaded

    # the control: without the name set by `start`, what the image holds is useless
    other = "x86-64-v2" if platform.machine() == "x86_64" else "cortex-a57"
    alone = _kernels(tmp_path, other, "import explorer.kernels.model.sampled_forcing")
    assert all(missed and not found for found, missed in alone.values()), alone

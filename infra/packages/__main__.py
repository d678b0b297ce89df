#!/usr/bin/env python3
"""Makes the packages of the command line from binaries that are built: wheels, packages of npm, images and plain archives.

    python infra/packages --binary linux-x64=FILE [--binary linux-arm64=FILE …] [--commit COMMIT] [--output target/dist]

`.ci/packages` builds the binaries for Linux and calls this script; the release workflow adds those for macOS and Windows. Beside the
packages are a bill of materials for each platform (`*.cdx.json`) and `SHA256SUMS`. `infra/package` makes another thing: the package of
the functions.

The same binaries and sources give the same bytes. The environment's SOURCE_DATE_EPOCH is the time of the packages, in seconds since 1970.
The script needs Python 3.11 with the modules of .ci/requirements/packages.txt, cargo and rustc.
"""

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

import archives
import certifi
import image
import npm
import ziglang
from archives import File, sha256
from platforms import PLATFORMS, fits
from wheel import wheel

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "package"))
from crates import Crates  # noqa: E402

CRATE = "sapwood-cli"
# The C library of the static binaries, which zig brings, and Rust in the same version.
MUSL = {
    "type": "library",
    "bom-ref": "musl",
    "name": "musl",
    "version": "1.2.5",
    "description": "The C library, linked statically",
    "licenses": [{"expression": "MIT"}],
}


def sources(directory):
    """The files of a directory by their names, without what Python leaves there."""
    found = (path for path in directory.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in found}


def of_platform(name, binary, moment, commit):
    """The version, the bill of materials, and the licences by their names."""
    platform = PLATFORMS[name]
    crates = Crates(ROOT, platform.target, [CRATE])
    is_static = platform.target.endswith("-musl")
    bill = crates.sbom(moment, commit, {CRATE: sha256(binary)}, [MUSL] if is_static else [])
    notices = crates.notices("The binary contains")
    if is_static:
        copyright_of_musl = (Path(ziglang.__file__).parent / "lib" / "libc" / "musl" / "COPYRIGHT").read_text().strip()
        notices += f"\n{'=' * 80}\n\nmusl {MUSL['version']}\n\n{copyright_of_musl}\n"
    licences = {licence: (ROOT / licence).read_bytes() for licence in ("LICENSE-APACHE", "LICENSE-MIT")}
    return crates.version, json.dumps(bill, indent=1) + "\n", licences | {"LICENSES-THIRD-PARTY.txt": notices.encode()}


def contents(binaries, moment, options):
    """The contents of all files by their names."""
    commit, repository = options.commit, options.repository
    made, told, chosen = {}, {}, {name: PLATFORMS[name] for name in PLATFORMS if name in binaries}
    readme = (HERE / "README.md").read_text()
    for name, platform in chosen.items():
        version, bill, licences = told[name] = of_platform(name, binaries[name], moment, commit)
        made[f"sapwood-{version}-{name}.cdx.json"] = bill.encode()
        modules = sources(HERE / "python" / "sapwood")
        files = [wheel(version, platform, binaries[name], modules, readme, licences, bill, repository)]
        files.append(npm.of_platform(version, name, platform, binaries[name], licences, bill, moment, repository))
        folder = f"sapwood-{version}-{name}"
        plain = {f"sapwood{platform.suffix}": File(binaries[name], 0o755)} | {licence: File(text) for licence, text in licences.items()}
        plain = {f"{folder}/{file}": content for file, content in plain.items()}
        is_zip = platform.suffix != ""
        files.append((f"{folder}.zip", archives.zipped(plain)) if is_zip else
                     (f"{folder}.tar.gz", archives.gzipped(archives.tarred(plain, moment))))
        made |= dict(files)
    # One version for all: it is the workspace's.
    ((version, _, licences), *_) = told.values()
    ours = {licence: text for licence, text in licences.items() if licence != "LICENSES-THIRD-PARTY.txt"}
    of_npm = sources(HERE / "npm") | {"README.md": readme.encode()}
    # Until the names are ours in the registry, whoever has the files mustn't get a stranger's packages there.
    asked_for = chosen if options.published else ()
    made |= [npm.of_all(version, asked_for, of_npm, ours, moment, repository)]
    certificates = Path(certifi.where()).read_bytes()
    licences = {name: licences | {"sapwood.cdx.json": bill.encode()} for name, (_, bill, licences) in told.items()}
    made |= image.images(version, commit, chosen, binaries, certificates, licences, moment, repository)
    made["SHA256SUMS"] = "".join(f"{sha256(content)}  {name}\n" for name, content in sorted(made.items())).encode()
    return made


def main(arguments):
    parser = argparse.ArgumentParser(prog="packages", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = f"PLATFORM is one of {', '.join(PLATFORMS)}"
    parser.add_argument("--binary", metavar="PLATFORM=FILE", action="append", required=True, help=known)
    parser.add_argument("--commit", default="unknown", help="the commit that the binaries are built of")
    parser.add_argument("--repository", metavar="URL", help="where the sources are; npm compares it with the workflow that publishes")
    published = "the packages will be in registries: that of npm asks there for those of the platforms. Without this it asks nobody"
    parser.add_argument("--published", action="store_true", help=published)
    parser.add_argument("--output", metavar="DIRECTORY", type=Path, default=ROOT / "target" / "dist", help="default: target/dist")
    options = parser.parse_args(arguments)
    if not (moment := os.environ.get("SOURCE_DATE_EPOCH", "")).isdigit():
        parser.error("SOURCE_DATE_EPOCH must be set, for example to what `git log -1 --format=%ct` prints")
    binaries = {}
    for name, equals, file in (given.partition("=") for given in options.binary):
        if name not in PLATFORMS or not equals:
            parser.error(f"{name} is no platform: PLATFORM=FILE has one of {', '.join(PLATFORMS)}")
        binaries[name] = Path(file).read_bytes()
        if not fits(PLATFORMS[name], binaries[name]):
            parser.error(f"{file} isn't built for {name}")
    made = contents(binaries, int(moment), options)
    shutil.rmtree(options.output, ignore_errors=True)
    options.output.mkdir(parents=True)
    for name, content in made.items():
        (options.output / name).write_bytes(content)
    print(made["SHA256SUMS"].decode(), end="")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

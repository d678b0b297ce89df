#!/usr/bin/env python3
"""Makes a package of functions that are built: whoever has it deploys Sapwood without Rust.

    python infra/package --functions target/lambda [--arch x86_64] [--commit COMMIT] [--output target/package]

`.ci/package` builds the functions and calls this script. The package is a directory and an archive of it, with the functions as archives, the
template, its nested templates and `samconfig.toml` without their instructions on building, `infra/smoke`, the Python
packages that deploy it (`requirements.txt`), the licences, a bill of materials (`sbom.cdx.json`) and `SHA256SUMS`.

The same functions and sources give the same bytes. The environment's SOURCE_DATE_EPOCH is the time of the package, in seconds since
1970. The script needs Python 3.11 with SAM's modules, cargo and rustc.
"""

import argparse
import hashlib
import io
import json
import os
import shutil
import stat
import sys
import zipfile
from pathlib import Path

import built
from crates import TARGETS, Crates
from samcli.yamlhelper import yaml_parse

ROOT = Path(__file__).resolve().parents[2]
# The earliest time that a ZIP archive can have. With the time of the build, a function that hasn't changed would be uploaded and deployed anew.
EARLIEST = (1980, 1, 1, 0, 0, 0)
# The processor in the head of an ELF file.
MACHINES = {"arm64": 183, "x86_64": 62}
README = """# Sapwood {version} for {architecture}

This folder has all that a deployment needs: the functions are built. It was made of the commit {commit}, whose `docs/operate/deploy.md`
says the rest. You need Python 3.10 or later, and credentials of an AWS account:

    sha256sum --check SHA256SUMS
    pip install --no-deps --require-hashes -r requirements.txt
    sam deploy
    python infra/smoke --stack sapwood

`sbom.cdx.json` lists the crates in the functions (CycloneDX), `LICENSES-THIRD-PARTY.txt` has their licences.
"""


def archive(entries):
    """A ZIP archive of files, which are given by name with their contents and modes. Nothing else goes into it, but zlib may differ between
    machines."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, (content, mode) in sorted(entries.items()):
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | mode) << 16
            file.writestr(entry, content, zipfile.ZIP_STORED if name.endswith(".zip") else zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def contents(options, moment):
    """The package's name, and the contents of its files by their names."""
    template, binaries = built.template((ROOT / "template.yaml").read_text(), options.arch)
    functions = {name: (options.functions / name / "bootstrap").read_bytes() for name in binaries.values()}
    if wrong := [name for name, function in sorted(functions.items()) if function[18] != MACHINES[options.arch]]:
        raise built.Unexpected(f"not built for {options.arch}: {', '.join(wrong)}")
    crates = Crates(ROOT, TARGETS[options.arch], functions)
    sbom = crates.sbom(moment, options.commit, {name: sha256(function) for name, function in functions.items()})
    named = {"version": crates.version, "architecture": options.arch, "commit": options.commit}
    made = {
        "README.md": README.format(**named),
        "template.yaml": template,
        "samconfig.toml": built.configuration((ROOT / "samconfig.toml").read_text()),
        "sbom.cdx.json": json.dumps(sbom, indent=1) + "\n",
        "LICENSES-THIRD-PARTY.txt": crates.notices("The functions contain"),
        "requirements.txt": (ROOT / ".ci" / "requirements" / "deploy.txt").read_text(),
    }
    files = {name: text.encode() for name, text in made.items()}
    files |= {f"{name}.zip": archive({"bootstrap": (function, 0o755)}) for name, function in functions.items()}
    resources = yaml_parse(template)["Resources"].values()
    nested = {resource["Properties"]["TemplateURL"] for resource in resources if resource["Type"] == "AWS::CloudFormation::Stack"}
    smoke = {path.relative_to(ROOT).as_posix() for path in (ROOT / "infra" / "smoke").glob("*.py")}
    files |= {name: (ROOT / name).read_bytes() for name in nested | smoke | {"LICENSE-MIT", "LICENSE-APACHE"}}
    files["SHA256SUMS"] = "".join(f"{sha256(content)}  {name}\n" for name, content in sorted(files.items())).encode()
    return f"sapwood-{crates.version}-{options.arch}", files


def write(directory, files):
    shutil.rmtree(directory, ignore_errors=True)
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def main(arguments):
    parser = argparse.ArgumentParser(prog="package", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", metavar="DIRECTORY", type=Path, required=True, help="where NAME/bootstrap is for each function")
    parser.add_argument("--arch", choices=TARGETS, default="arm64", help="the processor that the functions are built for (default: arm64)")
    parser.add_argument("--commit", default="unknown", help="the commit that the functions are built of")
    parser.add_argument("--output", metavar="DIRECTORY", type=Path, default=ROOT / "target" / "package", help="default: target/package")
    options = parser.parse_args(arguments)
    if not (moment := os.environ.get("SOURCE_DATE_EPOCH", "")).isdigit():
        parser.error("SOURCE_DATE_EPOCH must be set, for example to what `git log -1 --format=%ct` prints")
    name, files = contents(options, int(moment))
    write(options.output / name, files)
    packed = archive({f"{name}/{file}": (content, 0o644) for file, content in files.items()})
    (options.output / f"{name}.zip").write_bytes(packed)
    print(f"{sha256(packed)}  {options.output / name}.zip")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

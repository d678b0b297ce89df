"""The wheels: the binary as the script `sapwood`, and the module `sapwood` with the helpers for tests."""

from base64 import urlsafe_b64encode
from hashlib import sha256

from archives import File, zipped

METADATA = """\
Metadata-Version: 2.4
Name: sapwood
Version: {version}
Summary: Hierarchies and version history in one DynamoDB table, kept right by its stream: the command line, and a pytest plugin
License-Expression: MIT OR Apache-2.0
{licences}{repository}Keywords: dynamodb,tree,hierarchy,pytest,testing
Classifier: Development Status :: 4 - Beta
Classifier: Framework :: Pytest
Classifier: Intended Audience :: Developers
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Database
Classifier: Typing :: Typed
Requires-Python: >=3.10
Description-Content-Type: text/markdown

{readme}"""
WHEEL = """\
Wheel-Version: 1.0
Generator: sapwood infra/packages
Root-Is-Purelib: false
{tags}"""
ENTRY_POINTS = """\
[pytest11]
sapwood = sapwood.pytest_plugin
"""


def wheel(version, platform, binary, modules, readme, licences, sbom, repository):
    """The wheel's name and content. `modules` are the files of the package, by name."""
    # The number of each tag stands by itself; the name has them together.
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in platform.wheel.split("."))
    info = f"sapwood-{version}.dist-info"
    files = {f"sapwood/{name}": File(content) for name, content in sorted(modules.items())}
    files[f"sapwood-{version}.data/scripts/sapwood{platform.suffix}"] = File(binary, 0o755)
    named = "".join(f"License-File: {name}\n" for name in sorted(licences))
    found = f"Project-URL: Repository, {repository}\n" if repository else ""
    made = {
        "METADATA": METADATA.format(version=version, licences=named, repository=found, readme=readme),
        "WHEEL": WHEEL.format(tags=tags),
        "entry_points.txt": ENTRY_POINTS,
        "sboms/sapwood.cdx.json": sbom,
    }
    files |= {f"{info}/{name}": File(text.encode()) for name, text in made.items()}
    files |= {f"{info}/licenses/{name}": File(content) for name, content in sorted(licences.items())}
    listed = [f"{name},sha256={digest(file.content)},{len(file.content)}\n" for name, file in files.items()]
    files[f"{info}/RECORD"] = File(("".join(listed) + f"{info}/RECORD,,\n").encode())
    return f"sapwood-{version}-py3-none-{platform.wheel}.whl", zipped(files)


def digest(content):
    return urlsafe_b64encode(sha256(content).digest()).rstrip(b"=").decode()

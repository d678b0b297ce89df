"""The packages of npm: `sapwood`, which finds the binary, and one for each platform, which has it."""

import json

from archives import File, gzipped, tarred

SCOPE = "@sapwood"


def packed(manifest, files, moment):
    """The content of a package. npm expects everything in the folder `package`."""
    files = files | {"package.json": File((json.dumps(manifest, indent=2) + "\n").encode())}
    return gzipped(tarred({f"package/{name}": file for name, file in files.items()}, moment))


def of_platform(version, name, platform, binary, licences, sbom, moment, repository):
    """The name and the content of a platform's package."""
    (system, processor), program = platform.npm, f"bin/sapwood{platform.suffix}"
    manifest = {
        "name": f"{SCOPE}/{name}",
        "version": version,
        "description": f"The binary of sapwood for {system} on {processor}. Install `sapwood`, which installs this.",
        "license": "MIT OR Apache-2.0",
        "os": [system],
        "cpu": [processor],
        "preferUnplugged": True,
        "files": ["bin", "LICENSE-*", "LICENSES-*", "sapwood.cdx.json"],
    }
    manifest |= found_in(repository)
    files = {program: File(binary, 0o755), "sapwood.cdx.json": File(sbom.encode())}
    files |= {licence: File(content) for licence, content in licences.items()}
    return f"sapwood-{name}-{version}.tgz", packed(manifest, files, moment)


def found_in(repository):
    return {"repository": {"type": "git", "url": f"git+{repository}.git"}} if repository else {}


def of_all(version, platforms, sources, licences, moment, repository):
    """The name and the content of the package `sapwood`, which asks for the packages of these platforms. `sources` are its files by name,
    its manifest without a version among them."""
    manifest = json.loads(sources["package.json"])
    manifest = {"name": manifest.pop("name"), "version": version} | manifest | found_in(repository)
    if platforms:
        manifest["optionalDependencies"] = {f"{SCOPE}/{name}": version for name in sorted(platforms)}
    files = {name: File(content, 0o755 if name.startswith("bin/") else 0o644) for name, content in sources.items()}
    files |= {licence: File(content) for licence, content in licences.items()}
    return f"sapwood-{version}.tgz", packed(manifest, files, moment)

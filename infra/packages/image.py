"""The image, in the layout of the OCI: one layer with the binary, certificates and an empty directory for data. There is no shell in it.

`index.json` of an archive names what is in it. An archive of one platform has the `manifest.json` of `docker save`, too, so that `docker
load` takes it with any store.
"""

import json
from datetime import datetime, timezone
from pathlib import PurePosixPath

from archives import File, gzipped, sha256, tarred

# Nobody: a number that no user of a usual system has. Kubernetes wants a number to see that it isn't root.
USER = 65532
TYPES = "application/vnd.oci.image"
NAME = "sapwood"
PROGRAM = "/usr/local/bin/sapwood"


def layer(binary, certificates, licences, moment):
    """The layer as a TAR archive."""
    places = ("data", "etc/ssl/certs", "usr/local/bin", "usr/share/doc/sapwood")
    directories = {str(path) for place in places for path in (PurePosixPath(place), *PurePosixPath(place).parents)} - {"."}
    files = {name: File(None, 0o755) for name in directories}
    files |= {
        # Nobody else reads the table's files.
        "data": File(None, 0o700, USER),
        # What an export has read before it can write its first line.
        "tmp": File(None, 0o1777),
        "etc/passwd": File(f"root:x:0:0:root:/:/sbin/nologin\nsapwood:x:{USER}:{USER}:sapwood:/data:/sbin/nologin\n".encode()),
        "etc/group": File(f"root:x:0:\nsapwood:x:{USER}:\n".encode()),
        # Where rustls looks for the authorities that AWS's endpoints are signed by.
        "etc/ssl/certs/ca-certificates.crt": File(certificates),
        PROGRAM.removeprefix("/"): File(binary, 0o755),
    }
    said = b"etc/ssl/certs/ca-certificates.crt has Mozilla's authorities, as certifi on PyPI has them (MPL-2.0).\n"
    files["usr/share/doc/sapwood/CERTIFICATES.txt"] = File(said)
    files |= {f"usr/share/doc/sapwood/{name}": File(content) for name, content in licences.items()}
    return tarred(files, moment)


def configuration(version, commit, platform, layer, moment, repository):
    """What a runtime does with the layer."""
    created = datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {
        "title": "Sapwood",
        "description": "Hierarchies and version history in one DynamoDB table. For development and tests: nothing checks credentials",
        "licenses": "MIT OR Apache-2.0",
        "version": version,
        "revision": commit,
    }
    if repository:
        labels["source"] = repository
    return {
        "created": created,
        **platform.image,
        "config": {
            "User": f"{USER}:{USER}",
            "ExposedPorts": {"3000/tcp": {}, "8000/tcp": {}},
            "Env": ["PATH=/usr/local/bin", "HOME=/data"],
            "Entrypoint": [PROGRAM, "dev", "--container"],
            "WorkingDir": "/data",
            "Volumes": {"/data": {}},
            "Labels": {f"org.opencontainers.image.{name}": value for name, value in labels.items()},
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer)}"]},
        "history": [{"created": created, "created_by": "sapwood .ci/packages"}],
    }


class Blobs:
    """The blobs of a layout, each under its own hash."""

    def __init__(self):
        self.files = {}

    def add(self, content, kind, **more):
        """Keeps a blob, and returns what describes it."""
        content = content if isinstance(content, bytes) else json.dumps(content, separators=(",", ":")).encode()
        self.files[f"blobs/sha256/{sha256(content)}"] = File(content)
        return {"mediaType": f"{TYPES}.{kind}", "digest": f"sha256:{sha256(content)}", "size": len(content), **more}


def images(version, commit, platforms, binaries, certificates, licences, moment, repository):
    """The contents of the archives by their names: one for each platform, and one of all. `platforms` and `binaries` have the same keys."""
    together, manifests, archives = Blobs(), [], {}
    for name, platform in platforms.items():
        if not platform.image:
            continue
        alone = Blobs()
        unpacked = layer(binaries[name], certificates, licences[name], moment)
        settings = alone.add(configuration(version, commit, platform, unpacked, moment, repository), "config.v1+json")
        packed = alone.add(gzipped(unpacked), "layer.v1.tar+gzip")
        manifest = {"schemaVersion": 2, "mediaType": f"{TYPES}.manifest.v1+json", "config": settings, "layers": [packed]}
        described = alone.add(manifest, "manifest.v1+json", platform=platform.image)
        manifests.append(described)
        together.files |= alone.files
        at = {kind: f"blobs/{one['digest'].replace(':', '/')}" for kind, one in (("config", settings), ("layer", packed))}
        loaded = [{"Config": at["config"], "RepoTags": [f"{NAME}:{version}", f"{NAME}:latest"], "Layers": [at["layer"]]}]
        archives[f"sapwood-{version}-image-{platform.image['architecture']}.tar"] = (alone, described, loaded)
    index = {"schemaVersion": 2, "mediaType": f"{TYPES}.index.v1+json", "manifests": manifests}
    archives[f"sapwood-{version}-image.tar"] = (together, together.add(index, "index.v1+json"), None)
    return {name: archive(*parts, version, moment) for name, parts in archives.items()}


def archive(blobs, described, loaded, version, moment):
    # containerd takes the first name, and others the second.
    named = {"io.containerd.image.name": f"docker.io/library/{NAME}:{version}", "org.opencontainers.image.ref.name": version}
    index = {"schemaVersion": 2, "mediaType": f"{TYPES}.index.v1+json", "manifests": [described | {"annotations": named}]}
    files = blobs.files | {"blobs": File(None, 0o755), "blobs/sha256": File(None, 0o755)}
    files["oci-layout"] = File(b'{"imageLayoutVersion":"1.0.0"}')
    files["index.json"] = File(json.dumps(index, separators=(",", ":")).encode())
    if loaded:
        files["manifest.json"] = File(json.dumps(loaded, separators=(",", ":")).encode())
    return tarred(files, moment)

"""The images, without Docker: their layouts are read, and a rootfs is run by `chroot`, in namespaces of its own, as the image's user."""

import gzip
import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

from given import HERE_PLATFORM, ROOT, Dev, made, ran, scenario

sys.path.append(str(ROOT / "tests" / "rehearsal"))

from process import free_port  # noqa: E402

HERE_ARCHITECTURE = {"linux-x64": "amd64", "linux-arm64": "arm64"}[HERE_PLATFORM]
CRANE = sorted((ROOT / ".cache" / "crane").glob("crane-*/crane"))


def sha256(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class Layout:
    """The layout of an archive. Whatever is read of it has the hash that names it."""

    def __init__(self, path):
        with tarfile.open(path) as archive:
            self.files = {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}

    def blob(self, described):
        content = self.files[f"blobs/{described['digest'].replace(':', '/')}"]
        assert (sha256(content), len(content)) == (described["digest"], described["size"])
        return content

    def manifests(self):
        """The manifests of the images by their architectures."""
        (described,) = json.loads(self.files["index.json"])["manifests"]
        found = json.loads(self.blob(described))
        each = found["manifests"] if "manifests" in found else [described]
        return {one["platform"]["architecture"]: json.loads(self.blob(one)) for one in each}


class Images(unittest.TestCase):
    def test_every_blob_is_what_its_name_says_and_the_image_says_what_it_is(self):
        together = Layout(made("*-image.tar"))
        self.assertEqual(json.loads(together.files["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        for architecture, manifest in together.manifests().items():
            with self.subTest(architecture):
                settings = json.loads(together.blob(manifest["config"]))
                self.assertEqual((settings["os"], settings["architecture"]), ("linux", architecture))
                (described,) = manifest["layers"]
                layer = gzip.decompress(together.blob(described))
                self.assertEqual(settings["rootfs"]["diff_ids"], [sha256(layer)])
                # A number, so that a cluster sees that it isn't root.
                self.assertRegex(settings["config"]["User"], r"^[1-9]\d+:[1-9]\d+$")
                alone = Layout(made(f"*-image-{architecture}.tar"))
                self.assertEqual(alone.manifests(), {architecture: manifest})
                # What `docker load` reads.
                (loaded,) = json.loads(alone.files["manifest.json"])
                self.assertEqual(sha256(alone.files[loaded["Config"]]), manifest["config"]["digest"])
                self.assertEqual([sha256(alone.files[layer]) for layer in loaded["Layers"]], [described["digest"]])
                print(f"image for {architecture}: {made(f'*-image-{architecture}.tar').stat().st_size / 1e6:.1f} MB")

    def test_the_rootfs_has_the_binary_and_nothing_else_that_runs(self):
        for manifest in (layout := Layout(made("*-image.tar"))).manifests().values():
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layout.blob(manifest["layers"][0])))) as archive:
                entries = {entry.name: entry for entry in archive}
            programs = [name for name, entry in entries.items() if entry.isfile() and entry.mode & 0o111]
            self.assertEqual(programs, ["usr/local/bin/sapwood"])
            self.assertEqual([name for name, entry in entries.items() if entry.mode & (stat.S_ISUID | stat.S_ISGID)], [])
            self.assertEqual((entries["data"].uid, entries["data"].mode), (65532, 0o700))
            self.assertEqual({entry.uid for name, entry in entries.items() if name != "data"}, {0})

    @unittest.skipUnless(CRANE, "the images in a registry: crane needs Go (.ci/tools crane)")
    def test_a_registry_takes_them_and_gives_them_back(self):
        with tempfile.TemporaryDirectory() as directory:
            layout, crane = Path(directory) / "layout", CRANE[-1]
            with tarfile.open(made("*-image.tar")) as archive:
                archive.extractall(layout, filter="data")
            address = f"127.0.0.1:{free_port()}"
            serve = [crane, "registry", "serve", "--address", address]
            registry = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                for _ in range(100):
                    try:
                        urllib.request.urlopen(f"http://{address}/v2/").close()
                        break
                    except OSError:
                        time.sleep(0.1)
                ran(crane, "push", layout, f"{address}/sapwood:it")
                for architecture in Layout(made("*-image.tar")).manifests():
                    ran(crane, "validate", "--platform", f"linux/{architecture}", "--remote", f"{address}/sapwood:it")
                    ran(crane, "validate", "--tarball", made(f"*-image-{architecture}.tar"))
                listed = ran("bash", "-c", f"{crane} export --platform linux/{HERE_ARCHITECTURE} {address}/sapwood:it - | tar t")
                self.assertIn("usr/local/bin/sapwood", listed)
            finally:
                registry.terminate()
                registry.wait()


@unittest.skipUnless(os.geteuid() == 0, "the image's rootfs: only root may chroot")
class Running(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        layout = Layout(made("*-image.tar"))
        manifest = layout.manifests()[HERE_ARCHITECTURE]
        cls.settings = json.loads(layout.blob(manifest["config"]))["config"]
        cls.rootfs = Path(directory.name) / "rootfs"
        cls.rootfs.mkdir()
        # With owners and modes as they are in the layer.
        (layer := Path(directory.name) / "layer.tar").write_bytes(gzip.decompress(layout.blob(manifest["layers"][0])))
        ran("tar", "--extract", "--file", layer, "--same-owner", "--preserve-permissions", "--directory", cls.rootfs)
        os.chmod(directory.name, 0o755)

    def within(self, *command):
        """A command in the rootfs: with processes and mounts of its own, as the image's user, with the image's variables alone."""
        spaces = ("unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child")
        variables = ("env", "--ignore-environment", *self.settings["Env"])
        return (*spaces, *variables, shutil.which("chroot"), f"--userspec={self.settings['User']}", self.rootfs, *command)

    def test_the_container_serves_what_the_page_says(self):
        more = ("--json", "--dynamodb", "0.0.0.0:0", "--http", "0.0.0.0:0", "--data", "/data", "--allow-host", "sapwood")
        with Dev(*self.within(*self.settings["Entrypoint"], *more)) as dev:
            scenario(self, dev.api)
            self.assertEqual(ran(*self.within("/usr/local/bin/sapwood", "catch-up", "--http", dev.api)), "caught up\n")
            written = [path for path in (self.rootfs / "data").iterdir()]
            self.assertTrue(written)
            self.assertEqual({path.stat().st_uid for path in written}, {65532})
            print(f"container: {dev.answered * 1000:.0f} ms until /health has answered, with the namespaces")
        # It begins with what is there.
        with Dev(*self.within(*self.settings["Entrypoint"], *more)) as dev, urllib.request.urlopen(f"{dev.api}/nodes/d") as answer:
            self.assertEqual(json.load(answer)["id"], "d")

    def test_it_may_write_nowhere_else(self):
        for place in ("/usr/local/bin/more", "/etc/more", "/more"):
            said = ran(*self.within(*self.settings["Entrypoint"], "--dynamodb", "0.0.0.0:0", "--data", place), code=1)
            self.assertIn("ermission denied", said)

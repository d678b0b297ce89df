"""One machine's AWS: ministack, which performs a deployment and runs the functions that were built."""

import os
import subprocess
import tempfile
import urllib.request
import zipfile
from pathlib import Path

import boto3
from botocore.config import Config

from process import Process, free_port
from templates import REGION, ROOT, for_here, write, written

AWSCLI = ROOT / ".cache" / "awscli" / "bin"
MINISTACK = Path(__file__).with_name("patched_ministack.py")
BUILT = ROOT / ".aws-sam" / "build" / "template.yaml"


def packed(template):
    """The template with an archive in place of each function's directory. SAM would compress 90 MB anew with each deployment, which takes a third of its
    time. The suite `walking` deploys the directories, as `sam build` leaves them."""
    for id, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Serverless::Function":
            function, archive = BUILT.parent / id / "bootstrap", BUILT.with_name(f"{id}.zip")
            if not archive.exists() or archive.stat().st_mtime < function.stat().st_mtime:
                # In one step: half an archive, of a run that was ended, would be newer than the function.
                whole = archive.with_suffix(".part")
                with zipfile.ZipFile(whole, "w") as file:
                    file.write(function, function.name)
                whole.replace(archive)
            resource["Properties"]["CodeUri"] = str(archive)
    return template


class Emulator:
    """Runs from when it is made until it is stopped."""

    def __init__(self, python):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.directory = tempfile.TemporaryDirectory(prefix="rehearsal-")
        self.environment = os.environ | {
            "AWS_ACCESS_KEY_ID": "rehearsal",
            "AWS_SECRET_ACCESS_KEY": "rehearsal",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": self.url,
            # In seconds, between two looks at a stack. SAM's own 5 are for AWS, where a deployment takes minutes.
            "SAM_CLI_POLL_DELAY": "0.5",
        }
        of_ministack = {
            "LAMBDA_EXECUTOR": "local",
            "GATEWAY_PORT": str(port),
            "BIND_HOST": "127.0.0.1",
            "MINISTACK_HOST": "127.0.0.1",
            "MINISTACK_REGION": REGION,
            "TMPDIR": self.directory.name,
        }
        self.process = Process([python, "-P", MINISTACK], self.directory.name, self.environment | of_ministack)
        self.process.wait_until(self.answers)
        self.session = boto3.Session("rehearsal", "rehearsal", region_name=REGION)

    def answers(self):
        try:
            return urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=5).read()
        except OSError:
            return None

    def client(self, service):
        patient = Config(read_timeout=120, retries={"max_attempts": 1})
        return self.session.client(service, endpoint_url=self.url, config=patient)

    def sam(self, *arguments):
        done = subprocess.run(["sam", *arguments], cwd=ROOT, env=self.environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def deploy(self, stack, **parameters):
        """What `sam deploy` says. The functions are told where AWS is, and that they were built for this machine."""
        template = BUILT.with_name("rehearsal.yaml")
        write(packed(for_here(written(BUILT), AWS_ENDPOINT_URL=self.url)), template)
        overrides = ["--parameter-overrides", *(f"{name}={value}" for name, value in parameters.items())] if parameters else []
        given = ["--template-file", template, "--stack-name", stack, "--no-confirm-changeset", "--no-progressbar"]
        configuration = ["--config-file", ROOT / "samconfig.toml"]
        code, said = self.sam("deploy", *configuration, *given, *overrides)
        if code != 0:
            raise RuntimeError(f"sam deploy ended with {code}:\n{said}\n{self.process.said()[-4000:]}")
        return said

    def shell(self, script, answers=""):
        """What a script of the documents prints, with the AWS CLI."""
        environment = self.environment | {"PATH": f"{os.environ['PATH']}:{AWSCLI}", "AWS_PAGER": ""}
        command = ["bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(command, cwd=ROOT, env=environment, input=answers, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise RuntimeError(f"{script}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def outputs(self, stack):
        described = self.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", [])}

    def stop(self):
        self.process.stop()
        self.directory.cleanup()

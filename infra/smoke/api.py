"""The HTTP API as any client calls it."""

import json
import re
import time
import urllib.error
import urllib.request

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from trouble import Differs


class Api:
    """The HTTP API, with the caller's signature or token."""

    def __init__(self, url, authorization, session, token):
        self.url, self.authorization, self.session, self.token = url.rstrip("/"), authorization, session, token
        self.milliseconds = []

    def ask(self, method, path, body=None, status=(), **headers):
        """The body of an answer that has one of these status codes, and its headers with small letters."""
        data = json.dumps(body).encode() if body is not None else None
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if data:
            headers["content-type"] = "application/merge-patch+json" if method == "PATCH" else "application/json"
        for tries in range(5):
            found, text, said = self.send(method, path, data, headers)
            # Only our own 503 with `Retry-After` promises that nothing is half done. API Gateway answers 503 where time was up.
            refused = found == 429 or found == 503 and ("retry-after" in said or method in ("GET", "HEAD"))
            if not refused or found in status:
                break
            time.sleep(min(float(said.get("retry-after") or 1), 5) * (tries + 1))
        if found not in status:
            wanted = " or ".join(map(str, status))
            raise Differs(f"{method} {path} was answered {found}, not {wanted}: {text.decode(errors='replace')[:500]}")
        return (json.loads(text) if text else None), said

    def send(self, method, path, data, headers):
        url = self.url + path
        asked = AWSRequest(method, url, headers, data)
        if self.authorization == "AWS_IAM":
            SigV4Auth(self.session.get_credentials().get_frozen_credentials(), "execute-api", self.session.region_name).add_auth(asked)
        elif self.token:
            asked.headers["authorization"] = f"Bearer {self.token}"
        request, began = urllib.request.Request(url, data=data, method=method, headers=dict(asked.headers)), time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                found = answer.status, answer.read(), {name.lower(): value for name, value in answer.headers.items()}
        except urllib.error.HTTPError as error:
            found = error.code, error.read(), {name.lower(): value for name, value in error.headers.items()}
        # An answer that waits for rows says nothing about the API's own time.
        if "prefer" not in headers:
            self.milliseconds.append((time.monotonic() - began) * 1000)
        return found


def in_path(text):
    """A text as the API's paths have it."""
    return "".join(chr(byte) if re.match("[A-Za-z0-9_.-]", chr(byte)) else f"~{byte:02X}" for byte in text.encode())

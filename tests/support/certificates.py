"""A certificate authority of the tests, and what it signed."""

from __future__ import annotations

import subprocess
from pathlib import Path


def make_certificates(folder: Path, *names: str, hosts: str = "DNS:localhost,IP:127.0.0.1") -> Path:
    """Writes `ca.pem`, whose path it returns, and for each name `NAME.pem` and `NAME.key` (PKCS#8), signed for the
    hosts."""
    alternatives = folder / "alternatives"
    alternatives.write_text(f"subjectAltName={hosts}\n")
    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    of_authority = ("-days", "2", "-subj", "/CN=tests", "-keyout", "ca.key", "-out", "ca.pem")
    commands: list[tuple[str, ...]] = [("req", "-x509", *new_key, *of_authority)]
    for name in names:
        signed_by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "alternatives")
        commands += [
            ("req", *new_key, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr"),
            ("x509", "-req", *signed_by, "-in", f"{name}.csr", "-out", f"{name}.pem"),
        ]
    for command in commands:
        subprocess.run(("openssl", *command), cwd=folder, check=True, capture_output=True)
    return folder / "ca.pem"

"""Certificates for etcd over TLS: authorities and what they sign, made with openssl."""

import os
import subprocess
from pathlib import Path


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)


class Authority:
    """Writes <name>.crt and <name>.key, its own and those it signs, into `folder`."""

    def __init__(self, folder: Path, name: str):
        self._folder = folder
        self.certificate = str(folder / f"{name}.crt")
        self._key = str(folder / f"{name}.key")
        _openssl(*_new_key(), "-x509", "-days", "2", "-keyout", self._key, "-out", self.certificate,
                 "-subj", f"/CN={name}")

    def sign(
        self, name: str, address: str = "127.0.0.1", host: str = "", days: int = 2, has_name: bool = True
    ) -> tuple[str, str]:
        """Certificate and key files, for both sides of a connection: for the address, or instead for a host's name;
        with negative days, it has expired; has_name: with a common name. Existing files are replaced atomically, as a
        careful administrator does.
        """
        certificate, key = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        request, extensions = self._folder / f"{name}.csr", self._folder / f"{name}.ext"
        new_certificate, new_key = certificate.with_suffix(".new"), key.with_suffix(".newkey")
        subject = f"DNS:{host}" if host else f"IP:{address}"
        extensions.write_text(f"subjectAltName={subject}\nextendedKeyUsage=serverAuth,clientAuth\n")
        _openssl(*_new_key(), "-keyout", str(new_key), "-out", str(request), "-subj", f"/CN={name}" if has_name else "/")
        _openssl("x509", "-req", "-in", str(request), "-CA", self.certificate, "-CAkey", self._key,
                 "-CAcreateserial", "-days", str(days), "-extfile", str(extensions), "-out", str(new_certificate))
        os.replace(new_key, key)
        os.replace(new_certificate, certificate)
        return str(certificate), str(key)


def _new_key() -> list[str]:
    return ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

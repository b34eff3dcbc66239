"""Keys of recordings: secrets of a server, made for these alone by dnssec-keygen (the first is of
tests/support/skydns/sample_keys.c), and nothing else is signed with them."""

import base64

COOKIE_SECRET = bytes(range(16))
OTHER_COOKIE_SECRET = b"another secret16"
TSIG_KEY, TSIG_SECRET = "transfer.key", b"a secret of recordings, 32 bytes"

TSIG_FILE = f'''key "{TSIG_KEY}." {{
    algorithm hmac-sha256;
    secret "{base64.b64encode(TSIG_SECRET).decode()}";
}};
'''

# BASE: what BASE.key and BASE.private say.
ZONE_KEYS = {
    "Kcluster.local.+013+06729": (
        "cluster.local. 300 IN DNSKEY 256 3 13 PDG6QfF1CEYZYAE+DN5z2/cWPD4NCT3TBQoSEJoOjOf5aLitOxXtOy90 "
        "/zHJsIVe+6LO4FTrct1hrvcSTP4+Sg==\n",
        "Private-key-format: v1.3\n"
        "Algorithm: 13 (ECDSAP256SHA256)\n"
        "PrivateKey: 2DyFeqMR760jvvaTsFVRJqG58ov9x6RQXFcvgD2PjAs=\n",
    ),
    "Kcluster.local.+013+51741": (
        "cluster.local. IN DNSKEY 257 3 13 JeZyA8p5OKkaHjovvxwRsCfVsunKbEC137m6xLDUYr9acoJ9IYE4wH/Q "
        "M9lo6VUVLHVfSpwUb84Z7oDKaMYt+g==\n",
        "Private-key-format: v1.3\n"
        "Algorithm: 13 (ECDSAP256SHA256)\n"
        "PrivateKey: erx9QYhmUge528XGM5Ur5ZRG7iI8kxJBG0AexEbadSA=\n",
    ),
    "K96.10.in-addr.arpa.+015+05308": (
        "96.10.in-addr.arpa. IN DNSKEY 256 3 15 GRvffuNejG588iXU5S63GquK4YCyXR357vLcjVkg5zE=\n",
        "Private-key-format: v1.3\n"
        "Algorithm: 15 (ED25519)\n"
        "PrivateKey: Ps/qpfzp8ZMZZuVkAC+S67K9DLwwq8mOIck771pFlkI=\n",
    ),
    "Kdeep.sub.cluster.local.+008+34291": (
        "deep.sub.cluster.local. IN DNSKEY 256 3 8 AwEAAcY/meqBnreLnmU3tH2n45wh3cTxctpgatsTQ2tlKp0hBquwagln "
        "lCEAYCyWq5zlH9mUiKMFn952RJ7poZ6xx0+TsrZ/NIFQNbUGHLBoch/Y "
        "Xh48l9QaJipc8wzHEGO1RgRv73DNaISiubACdk0Y659pTUvIBHBKMufc eWSMKs0/\n",
        "Private-key-format: v1.3\n"
        "Algorithm: 8 (RSASHA256)\n"
        "Modulus: xj+Z6oGet4ueZTe0fafjnCHdxPFy2mBq2xNDa2UqnSEGq7BqCWeUIQBgLJarnOUf2ZSIowWf3nZEnumhnrHHT5Oytn8"
        "0gVA1tQYcsGhyH9heHjyX1BomKlzzDMcQY7VGBG/vcM1ohKK5sAJ2TRjrn2lNS8gEcEoy59x5ZIwqzT8=\n"
        "PublicExponent: AQAB\n"
        "PrivateExponent: AhAjX+ddaXeQfGkp/azDl5pannQMx+z8766xoup4mQ4A7cR2NgbX6cgBODWRL57KyA7dpSSn1z7P0/+GaQp"
        "ckpizK9+7hIs2VuUtbQZj/qDGQJeeWDrUdKjyFH4/t2HDuoVbX1Duw1eXIar2G51FzxRttLfohtY9dpzUDu/izQE=\n"
        "Prime1: /0PvLkw6ySH/aUHSm3TvT1cuolPAm3V8hA1Yb4SbU8tN9JJK7OKV0PnI8xhrnnDkXnCWAJuSCP7hkp/P0yKG/w==\n"
        "Prime2: xtGo8osUtIpI8BDX3R9XSOJjQ5R2JpjY3R+4uRAM5HDYm6952DxCBJ8mFjUgBZTfvT3f9v07zvqmFcwn4yv5wQ==\n"
        "Exponent1: qGFJfoKuLEqOzgGrSPxDd1SM4GranDFNZ1XeRgF07DspOvDdF5EHPgfmc+Rh6OuS2HDvoYr9M43dgfiFAELARQ==\n"
        "Exponent2: rdPTJbPp92tMF/Bx+xeSxduBNC3SGy7ZtIMui0b4LqZnC78hBaixg77tms7530dpUtiNPzHqn61PlpE3cowZQQ==\n"
        "Coefficient: "
        "Zf8reT8JszXoMOp1N9D2bkbhN+Z/Z9s4Pth6ZZJPbMtP8NH8cg/lYn5ujSKZokBdrABY4hsPYTbLTyeKe4h4RQ==\n",
    ),
}

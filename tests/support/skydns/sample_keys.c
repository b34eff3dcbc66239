#include "tests/support/skydns/sample_keys.h"

#include <stdio.h>
#include <stdlib.h>

struct signing_key *sample_key_new(enum sample_key_name name)
{
    struct signing_key *key = NULL;
    struct err err = {.code = 0};
    if (signing_key_parse(slice_str(sample_keys[name].public_text),
                          slice_str(sample_keys[name].private_text), &key, &err)) {
        (void)fprintf(stderr, "%s: %s\n", sample_keys[name].base, err.msg);
        abort();
    }
    return key;
}

const struct sample_key sample_keys[SAMPLE_KEYS] = {
    [SAMPLE_ECDSAP256_KSK] =
        {
            .base = "Kcluster.local.+013+56948",
            .public_text =
                "; This is a key-signing key, keyid 56948, for cluster.local.\n"
                "; Created: 20261123211548 (Mon Nov 23 21:15:48 2026)\n"
                "; Publish: 20261123211548 (Mon Nov 23 21:15:48 2026)\n"
                "; Activate: 20261123211548 (Mon Nov 23 21:15:48 2026)\n"
                "cluster.local. IN DNSKEY 257 3 13 XgazHVywJ6ppIJqm+6qN4qRfqUMB12zQs0fRMZMwlB"
                "ykELQkpQwGCSlr LqRXGTblHZaHSnw8Wo9dA9SUj0Upnw==\n",
            .private_text = "Private-key-format: v1.3\n"
                            "Algorithm: 13 (ECDSAP256SHA256)\n"
                            "PrivateKey: cNz8GNCdk1i8+pJUvomVJawiTqmQRUyTTWheL4nH/iY=\n"
                            "Created: 20261123211548\n"
                            "Publish: 20261123211548\n"
                            "Activate: 20261123211548\n",
            .ds = "cluster.local. IN DS 56948 13 2 "
                  "CD7ED5A93A6C5F36345EBF6CF7253C7ABC3E3DA4944655C2EAB58B8CBC702834",
        },
    [SAMPLE_ECDSAP256_ZSK] =
        {
            .base = "Kcluster.local.+013+06729",
            .public_text =
                "; This is a zone-signing key, keyid 6729, for cluster.local.\n"
                "; Created: 20261123211548 (Mon Nov 23 21:15:48 2026)\n"
                "; Publish: 20261123211548 (Mon Nov 23 21:15:48 2026)\n"
                "; Activate: 20261123211548 (Mon Nov 23 21:15:48 2026)\n"
                "cluster.local. 300 IN DNSKEY 256 3 13 PDG6QfF1CEYZYAE+DN5z2/cWPD4NCT3TBQoSEJ"
                "oOjOf5aLitOxXtOy90 /zHJsIVe+6LO4FTrct1hrvcSTP4+Sg==\n",
            .private_text = "Private-key-format: v1.3\n"
                            "Algorithm: 13 (ECDSAP256SHA256)\n"
                            "PrivateKey: 2DyFeqMR760jvvaTsFVRJqG58ov9x6RQXFcvgD2PjAs=\n"
                            "Created: 20261123211548\n"
                            "Publish: 20261123211548\n"
                            "Activate: 20261123211548\n",
            .ds = "cluster.local. IN DS 6729 13 2 "
                  "2402EC28C08BF0DB63C59573080A38BA7E91546AF654B748B9F9BB2D51DDE632",
        },
    [SAMPLE_ECDSAP384] =
        {
            .base = "Kcluster.local.+014+49178",
            .public_text =
                "; This is a key-signing key, keyid 49178, for Cluster.Local.\n"
                "; Created: 20261123211548 (Mon Nov 23 21:15:48 2026)\n"
                "; Publish: 20261123211548 (Mon Nov 23 21:15:48 2026)\n"
                "; Activate: 20261123211548 (Mon Nov 23 21:15:48 2026)\n"
                "Cluster.Local. IN DNSKEY 257 3 14 sIbqMXK5ss/HgucjTFv/IUG0snZoR2S/kv8ry2PSal"
                "VOcggPJVMKcnR4 cQNgugonwiZSYVGIdFAHb0KgpzbWI4S18cLiusvg3WwOatyPD/DNTmFr sEaO"
                "YOzoA4ZF0poF\n",
            .private_text =
                "Private-key-format: v1.3\n"
                "Algorithm: 14 (ECDSAP384SHA384)\n"
                "PrivateKey: PjVKKgkztJ2q+LiuuQXE9yZH4Qt5W59IBKQSiT7RYe6UDhpFWQy9uHdE5jI9WyKH"
                "\n"
                "Created: 20261123211548\n"
                "Publish: 20261123211548\n"
                "Activate: 20261123211548\n",
            .ds = "Cluster.Local. IN DS 49178 14 2 "
                  "936F51F38BE8B3ED0D38F8DC27841650F013BABA3070733ABEC4204069341DC9",
        },
    [SAMPLE_ED25519] =
        {
            .base = "Kcluster.local.+015+62186",
            .public_text =
                "; This is a zone-signing key, keyid 62186, for cluster.local.\n"
                "; Created: 20261123211549 (Mon Nov 23 21:15:49 2026)\n"
                "; Publish: 20261123211549 (Mon Nov 23 21:15:49 2026)\n"
                "; Activate: 20261123211549 (Mon Nov 23 21:15:49 2026)\n"
                "cluster.local. 3600 IN DNSKEY 256 3 15 74JhnCUSfxfcBw/uzcl0n1eFhSqO5ul+iluFg"
                "BTwUVI=\n",
            .private_text = "Private-key-format: v1.3\n"
                            "Algorithm: 15 (ED25519)\n"
                            "PrivateKey: IJ7PuCsn7yAMpGco5aq2foh9DUqTMObmrAt1iSr3d0s=\n"
                            "Created: 20261123211549\n"
                            "Publish: 20261123211549\n"
                            "Activate: 20261123211549\n",
            .ds = "cluster.local. IN DS 62186 15 2 "
                  "777BF296A32BF6ABA0B92321A6F331137665B1E8861DEE4AAA0EFEDD9123EC02",
        },
    [SAMPLE_RSASHA256] =
        {
            .base = "Kskydns.local.+008+17780",
            .public_text =
                "; This is a key-signing key, keyid 17780, for skydns.local.\n"
                "; Created: 20261123211549 (Mon Nov 23 21:15:49 2026)\n"
                "; Publish: 20261123211549 (Mon Nov 23 21:15:49 2026)\n"
                "; Activate: 20261123211549 (Mon Nov 23 21:15:49 2026)\n"
                "skydns.local. 60 IN DNSKEY 257 3 8 AwEAAdwvfJ1cyR74Lpn+SfE+yXXelqpUvWg3HGy6m"
                "sgFjaEdEWpZchV+ td3+x+38R6QRI2qMN3indwrgk8P+j37DxWg0lOfRLMmQgyHeBkixdL1r Nuo"
                "YjNz7EJPiPBjvBs2G5VUprS+HA82cikUvOW7fM8xwtQsUcjB1RP+d jCm7QKmujSnbOvPMMUMcKt"
                "Y8KeOVYtEMSZeg0Erd21MsuLb0vxm98HEM BQRSrRODgVrWB/jyXIMgb7vFfVXmh3vaPOGAitGRF"
                "fwIH4skzwI7bh0G DNGQyWIKIUuT+iHX9NoU7cHszlEZGeS1KE9vbsmlPa4fRGlQJv/OQ5l9 8Fs"
                "f4UUj0bU=\n",
            .private_text =
                "Private-key-format: v1.3\n"
                "Algorithm: 8 (RSASHA256)\n"
                "Modulus: 3C98nVzJHvgumf5J8T7Jdd6WqlS9aDccbLqayAWNoR0RallyFX613f7H7fxHpBEjaow"
                "3eKd3CuCTw/6PfsPFaDSU59EsyZCDId4GSLF0vWs26hiM3PsQk+I8GO8GzYblVSmtL4cDzZyKRS8"
                "5bt8zzHC1CxRyMHVE/52MKbtAqa6NKds688wxQxwq1jwp45Vi0QxJl6DQSt3bUyy4tvS/Gb3wcQw"
                "FBFKtE4OBWtYH+PJcgyBvu8V9VeaHe9o84YCK0ZEV/AgfiyTPAjtuHQYM0ZDJYgohS5P6Idf02hT"
                "twezOURkZ5LUoT29uyaU9rh9EaVAm/85DmX3wWx/hRSPRtQ==\n"
                "PublicExponent: AQAB\n"
                "PrivateExponent: Ki2Gh3ZgqGgONT162JWYbdXHsrUs2yvDbCiKwcoeiUBSN7cOnYN6Px4xGit"
                "7ZbhKunxFm/0oVpMSezbmMfg6dm2sIIP3Ol1OYUxwk7g6jpZdHJa7VRFa6ZkqvfP7r58pixjCrho"
                "E5nwYGIylSdHD0GO+qnKuNQ4hu31ofg36owYLz0sdc9BSvCA3bkZu1JudJw0+i2Q8oUPAvR7Ridx"
                "l1VJTEIZFb7mDVrxoxyWVGwAeG0eyOdyZ1d1wG80V2GcICVGSJs4nFVTXtWrQOl84at96hY/T3qb"
                "E4CobqRkzU18ixazbKVB8Yjj71WLUCZm9QBqVuZ8wWbjg8F9YaNWYOQ==\n"
                "Prime1: 9Qs5vK1V4Q5L3SUnWI/Fq9blL4Ti3KJheXBqEEvO9bEtkpDLu3WXe6mG8rANaYHqqBrA"
                "+nVNjY7dGeQ99d5ykqXZ7XIorp2OYdyzxYogZ3qx1M8cqFL8levEyKPOKF//sJTE3xJRgmv8BAOY"
                "aVNSS+699CBIqHCczscWRPhCaAs=\n"
                "Prime2: 5ge7dRR3PXo1VYMe6NajBUS8/ZfYLONUQEMZzKlYHsZSnLTe5XlhxfGOnTH5g362mpqU"
                "743dNYIggyQ/3lSQQ8bddxSc9z1cvKEDPZ1O5I1mp8wuVJUGaiWJklnSh0xCt+w3gDt/D5XvCBws"
                "CndQJ6DJ9CS2oPkjJYywzujMBT8=\n"
                "Exponent1: MeLNKEopd53Pd//+WJs8ZNVk5x2oib5NFcn67cJhKceePX5Y25r+8d/7ZyDMOjSGr"
                "x5zNwn2deElxgWfT5SvwocdLKfW/GV6/RVPS+Ho4ugpl+dqMCJk5aiP8UDX0YRpq2s+ASPbkC+nq"
                "LGKr7aUxHygEzkXUaNLaRVCxVu9OS0=\n"
                "Exponent2: j8CtSZGsouLIidQTcPcRka1PXjuSgRrf//jvGpOJ2lGeNwhhc47Tp1w5/8rHX4HEp"
                "AGOqdZCM7pKjyoML+kw7upMZKqhHXFfjxIgcFTqhLJJQPu8yGcJRzSGMMupYZwq5b3dQWntEdRlO"
                "PBCJZhCo0E8dDKtXxPS/xhZNjUNqwk=\n"
                "Coefficient: YaPdGLND5TGWCsrd0CboNMgO99xRsr0fqPNbXySSgCiSn4JbZLNLW0POdonYQpO"
                "3+CS22CEqkksmr5T5rbIjfXhyGjLEfACVgKIPd+8kCij5Fka9Pukb4NNwWtaXTClwc5vv/ddP7xX"
                "Jpl6NXzf0OpEvMvCUy8wQFpvBEum1LA0=\n"
                "Created: 20261123211549\n"
                "Publish: 20261123211549\n"
                "Activate: 20261123211549\n",
            .ds = "skydns.local. IN DS 17780 8 2 "
                  "208C52D8B72745FAFAC1CB008CA4CBDF9CF3D245E3994FFAC0E84D7C1A473BF2",
        },
    [SAMPLE_RSASHA256_4096] =
        {
            .base = "Kskydns.local.+008+50601",
            .public_text =
                "; This is a zone-signing key, keyid 50601, for skydns.local.\n"
                "; Created: 20261123211549 (Mon Nov 23 21:15:49 2026)\n"
                "; Publish: 20261123211549 (Mon Nov 23 21:15:49 2026)\n"
                "; Activate: 20261123211549 (Mon Nov 23 21:15:49 2026)\n"
                "skydns.local. IN DNSKEY 256 3 8 AwEAAchzysPO9k6f0zcFiR2lPIVz+HByFI69ItIW/09x"
                "Zhrj0ZepZrfD bX1cd8FNQuSGnlrjdq8y/dWZwxh2/AEsajj3PUqVJHVUzTN0AVulFtdu iXCwa1"
                "bkR0MZMeI11n2aKX1OdAxbRa6F1s5MYuYqOw1fGEasjA4L6mti nwEeVYtiMT2dw+L/NFcCEQqOu"
                "ev2N2d0jD0X5FafBl5YeONEjEQo4DMN T5qr5TRIs7jveKgufTAG1Qf2fUhKpEnys3dUQOKWA0Bd"
                "vt4WeJRtPDfr YynPsY3mzFzGHafRmokWm0KjQ9Yc03YnzhPHlMHwovBKjSekSisqE4Nz +TFHVr"
                "LbvtqLzq4IPUFsp9epV+7BR4+hGmH79YhZuebhWxmmo4ExZuLu CSh+vvIbE6ieufm+WqQoHSJbE"
                "k2ZUdlARhmuTPekmejJdaGWVLG7kUih drJgbSzElayAp2GaR4Po2fC+f7+WYt7kTD4OWzbPbZph"
                "FQ7puxpbq+rv 7el3LI+trJimC/5B9dvaKbLFRZdEyGUbRnVOHKdvAj/nj8I7JiZ97vn5 OMTvn6"
                "h9kkL0I10tS7bkjGVj0vbhGwXzSTrxlEEAb5k8aFfv1UByknt1 r6aQgUJUUsd8C8bLI6Plv6iK5"
                "P/E9s7yTOalFQVu8uwuskSR+F8TlOIP 7jNpgCUtwsidLHT3\n",
            .private_text =
                "Private-key-format: v1.3\n"
                "Algorithm: 8 (RSASHA256)\n"
                "Modulus: yHPKw872Tp/TNwWJHaU8hXP4cHIUjr0i0hb/T3FmGuPRl6lmt8NtfVx3wU1C5IaeWuN"
                "2rzL91ZnDGHb8ASxqOPc9SpUkdVTNM3QBW6UW126JcLBrVuRHQxkx4jXWfZopfU50DFtFroXWzkx"
                "i5io7DV8YRqyMDgvqa2KfAR5Vi2IxPZ3D4v80VwIRCo656/Y3Z3SMPRfkVp8GXlh440SMRCjgMw1"
                "PmqvlNEizuO94qC59MAbVB/Z9SEqkSfKzd1RA4pYDQF2+3hZ4lG08N+tjKc+xjebMXMYdp9GaiRa"
                "bQqND1hzTdifOE8eUwfCi8EqNJ6RKKyoTg3P5MUdWstu+2ovOrgg9QWyn16lX7sFHj6EaYfv1iFm"
                "55uFbGaajgTFm4u4JKH6+8hsTqJ65+b5apCgdIlsSTZlR2UBGGa5M96SZ6Ml1oZZUsbuRSKF2smB"
                "tLMSVrICnYZpHg+jZ8L5/v5Zi3uRMPg5bNs9tmmEVDum7Glur6u/t6Xcsj62smKYL/kH129opssV"
                "Fl0TIZRtGdU4cp28CP+ePwjsmJn3u+fk4xO+fqH2SQvQjXS1LtuSMZWPS9uEbBfNJOvGUQQBvmTx"
                "oV+/VQHKSe3WvppCBQlRSx3wLxssjo+W/qIrk/8T2zvJM5qUVBW7y7C6yRJH4XxOU4g/uM2mAJS3"
                "CyJ0sdPc=\n"
                "PublicExponent: AQAB\n"
                "PrivateExponent: CLwhqVUISavQRepcARU1ZRwFHE1JqmCr4Zt2m60gMGrItC2sbV866FwSVzO"
                "OhyvQlGWrbdNbLqbT0r9DQv/UTyWC9RA5Cv3bhUhNqNiG/XNH0kfLHaRhRey/+OYKBzt5CbNUqOy"
                "Emv13u1H70KDQJZ3aY8tavQqgN/a6YWTuKwk9MRICD7m5kP26OrYL0bBPK2xvkgKhBMn1j+tAtVK"
                "ZiXzTLEECZ4XhvTIFLDlkjhucgUPC87pg144dHksmWTxW1Cjfp7s4uS/Mfayhk6Q9FCeEoAo0fJR"
                "2MAfDuVaUBHGIirjYhCJplKtn8ZLoCXA45McqzjpiqEyc9Byc4WVkVHORiHn3y8NveblefpTGsaZ"
                "CDeuXavK8VGsuRH6oqEhIwYSDQgkM93Qk9UxYaJCxyHZS9HrDkMyAhdF+NAKNu9+7XMB8WgkZzvq"
                "QZ1snIaQkdYp6OoG540+ux4p6FZvOOwnq7oPTV3cQHxtJIIBs+2NBDR59Xn7F9PaoCZzxd5bTPW5"
                "UFIzlqldtMHt/31aQdE0EIkNtWUmI63AayguEO1yCxmHzg/hqny01EE6Gai2zJYk8ebzEj7WaUW5"
                "bD3bLB7h7+gc7qv3VClMvB2aJNlKBgnbtVALwynFLK7LKpdQ0tWH9knwlsOnWCB41Tg9v6olImEK"
                "ihWifeBAgI89I080=\n"
                "Prime1: 8RsbHf6Qf5FRJjN/+Tg9/eVypv6KrtkXGHHExasT5lofsI9F6mlgzm9kZpwGzYdoSRC8"
                "ObKywj8VIERwo2OH1kLNt4dxrrslxllSjT5PPhTfSEeDbYnxXdaurSlTTlvE5dk1EJhGUPCJN0UL"
                "bFfBW85/lW1oZMTDpAcGKVvCA/P77yG3+lgamj0yRYwxDlU2NLEzxrrM6Hh8AF+2LSuG70jIdAi1"
                "BIr2cY4rOQtKxJ94iu1OFc3phqTC48NELGT2J86AfwDfsD8mYI0tAO0A2DUu+IN198X6IUUvZufi"
                "anIyfACVOlAe93mwwsk8HdcnV/QBhJ3QJk7mKWn0GnxiIw==\n"
                "Prime2: 1NXIamwS1pi2/f2jNlLXGjtbrhFP2sgG6cNeJfcpi3BIMtgIpjPY4f3aWxLL89tNbmv9"
                "J+2bCxDxz4loExtrCw0IpcEUsBxqYj9kx9jg0PjCO9vt4r+FZmZLhX+DjnvIHmVCnLDwTulPkbaV"
                "eusvn3wDBfcRPUv7YnAUV731ZhCEGk8X/7YsN5CY7VW8Vy8NGN9v7ohf/O+YfPCWJYB0H2Tuv1Zq"
                "oHZbF5MaLSORzvr2dtvNG1qS/WkMf7xqjBNBnAQYUnQc+biJugM+CIonbK66MdQJvv2A8X96l9lD"
                "KlUjZh83QIhMJaqCSopz2hGXuHqvo6vRWAAEO9yImzE9HQ==\n"
                "Exponent1: DqoJYi+jdj7OYrZrKCtFifW0nXeJ08ycXP4+a49WLIJ6vvBX3kP+gU/BGYSP3VxI+"
                "XitGg1GVg4kKMxA1Y8uKdfyTyFLxsbXK1MvdCvAAhSe5/SBh94F8iEmip2i1Xc7aIdndNTuIeofT"
                "l9CrJpBxmWu2NXIrahSBd3vgAB2smrafdbdK7rEE3F5Z0V5jlecbmQAtCuUXudFE3i+ycyF7nPMz"
                "VHiQJ57ErkE4/lN2NuiJ0D7qNPXSjsnJ1cvBEw3tIAYzKCu+jc9DE5J2G6RyJSjgLXuLN27st5UX"
                "bvox3SeoXAfo2ZQG9ko6Q/4OhBl8jGDDh/TEyFlWkt5b0r1ZQ==\n"
                "Exponent2: fLTGuZSZdSQGFMyI1Uu0vaoKDfQW1hpd8pqGj7hCn3Eq3J+4canvantTdgmNd1UIC"
                "as8qiiOr+09wlzAnnFyRwdcCcMYXBhKPUbnxjFNiSQ4qtoyiKmvgFBv78jHTLU6jJTIcwc5xwLtn"
                "HNfIqarQMdo/hXGBCSBJyyEvuSO5T7IKKIvbaVQQz52XJnfwTXQdsJ0008U7x90OcC+OTsKz1pUi"
                "cgYseyncyi+LbSpup1RzFL92wk3F0R2DmJYC7s8ti2wEp/2WlvGVzePIXHRp9y5PHkBPOdMpjQLo"
                "O2sbSF1nGCt/yHdfDRsI0D8oMmuHGnGgCAsiWN5F5ogcM5p\n"
                "Coefficient: qj4C88O9wd6m4S5jYeboTe4bw3aoFh3uWbxYIoq/gOfPnzIRNsOWx8Yc9P9KqVA"
                "UzjR+ees/9wNOBZp+rzEVHuflr6smZNJU1HkUWVdUEcVjn6q2hjxCyBXWDwiC7YPLZ/hIazkWuoq"
                "Ft21m32/+2rgdEx/T9N7xTi1Lk7iYycsZdH9BxfHIbDH9AIkHQ7yjA8SMCySpvgQhJ9b0ykHFvCA"
                "dflmGimJBi5knBPeY0wA8mpSus/ITPH18x0fJUtb0kkyc82L3qmL1CbicJlO7DsZ38tEgHuGnH2e"
                "s3H0vN2U25/7jvmS0rdBsRHLLLkYqHhEHAuDBkUQlFCiJqMjsTw==\n"
                "Created: 20261123211549\n"
                "Publish: 20261123211549\n"
                "Activate: 20261123211549\n",
            .ds = "skydns.local. IN DS 50601 8 2 "
                  "FA5EF3CB6825DC79BB7497894843F88F4DD09D6BCAD762091B82D668861E4BF8",
        },
    [SAMPLE_RSASHA512] =
        {
            .base = "Kskydns.local.+010+10181",
            .public_text =
                "; This is a zone-signing key, keyid 10181, for skydns.local.\n"
                "; Created: 20261123211550 (Mon Nov 23 21:15:50 2026)\n"
                "; Publish: 20261123211550 (Mon Nov 23 21:15:50 2026)\n"
                "; Activate: 20261123211550 (Mon Nov 23 21:15:50 2026)\n"
                "skydns.local. IN DNSKEY 256 3 10 AwEAAc2uGAGTeMlCHuwHTRPjsMAS74kxQTnAmT2Pada"
                "FuxZcjzEvQx+s eTzgv8fUIvt8qZ5YOUYL7n0jmqHpzNI+8Ra4yfBvQdAuumMAUts4u5eH Sf7mb"
                "p5vFsNPAX0zXtK0gJaTUqexikJV+efnNu+4OQna390CgJoaehIL RIKO0EWZ\n",
            .private_text =
                "Private-key-format: v1.3\n"
                "Algorithm: 10 (RSASHA512)\n"
                "Modulus: za4YAZN4yUIe7AdNE+OwwBLviTFBOcCZPY9p1oW7FlyPMS9DH6x5POC/x9Qi+3ypnlg"
                "5RgvufSOaoenM0j7xFrjJ8G9B0C66YwBS2zi7l4dJ/uZunm8Ww08BfTNe0rSAlpNSp7GKQlX55+c"
                "277g5Cdrf3QKAmhp6EgtEgo7QRZk=\n"
                "PublicExponent: AQAB\n"
                "PrivateExponent: pUbLZaDSg69NV886IcxqgL32nCDnT/gza6NtogPOZda0/goDf1VCCyhzE6m"
                "k/r+bMXGlfGMkHozYulk8zInlgjJcQpragYZfIzcYxBoD/yrYh/k0aIpgmExp85BnGMLA1s2TAL+"
                "MdOFfvyE3Dll72dargofA5+ASLhbwcg9+SIE=\n"
                "Prime1: 8obWgThUr2VCIUmyBY6/vy2R0R4An8IlqHOZ7lcvdsHlJZuTgsJfGUxI3kThxFHrregg"
                "qKQgZJGCGmGPz/HN6Q==\n"
                "Prime2: 2Rs7EUATWBcs++Qvu/nH8er+lkDwzfCJgFXH9VG3E0BJiQGcy92+9GGDcE0hGRWZHrkW"
                "/WGvl1J4YO6mHZN8MQ==\n"
                "Exponent1: 8GUpQELW5lhnWVmUJSAe/mAsFm03zyOBclzL6szu1jdRbJqud8E0xH2yCOecJZ3SD"
                "7p0jNTK6wS0QnQMOeGD6Q==\n"
                "Exponent2: ZC/Xwy8hfh47yQXVLVan+TBrSaUwOqjMmyd6ve92n3CkPpA67i0nKJkzUYiWRIAeB"
                "/p77HO+1wLcwEaA69cakQ==\n"
                "Coefficient: wUPXaS3hbn876xbeJizbUreQtLdn7l9GLiNpW18W4lpNfk9Y/UxIq6AIE0aKksN"
                "41t6ZoO40juOBZzCfzzUaLQ==\n"
                "Created: 20261123211550\n"
                "Publish: 20261123211550\n"
                "Activate: 20261123211550\n",
            .ds = "skydns.local. IN DS 10181 10 2 "
                  "65F2D277F2DBCBE6E13EA72D4B0479AAF90DC292F1318DDAE1800BD0FED6FDC4",
        },
    [SAMPLE_RSASHA1] =
        {
            .base = "Kskydns.local.+005+61188",
            .public_text =
                "; This is a zone-signing key, keyid 61188, for skydns.local.\n"
                "; Created: 20261123211550 (Mon Nov 23 21:15:50 2026)\n"
                "; Publish: 20261123211550 (Mon Nov 23 21:15:50 2026)\n"
                "; Activate: 20261123211550 (Mon Nov 23 21:15:50 2026)\n"
                "skydns.local. IN DNSKEY 256 3 5 AwEAAZ5BxlrxvaSTrAwk6WtyK+/NReDu0CuCcRSeVDsf"
                "Cim6vDY5PACz MIiJAkgPp4qbM6JT8Ksfn+LvZmsELNkyHxWTgyuSAmr/HgydNcXpFNzY lB/kDu"
                "RpVUVc7r3PP4Z4TaZtSky18mgr92faAWOpGTy42EbamB2+eY1F bCnQJ9T1\n",
            .private_text =
                "Private-key-format: v1.3\n"
                "Algorithm: 5 (RSASHA1)\n"
                "Modulus: nkHGWvG9pJOsDCTpa3Ir781F4O7QK4JxFJ5UOx8KKbq8Njk8ALMwiIkCSA+nipszolP"
                "wqx+f4u9mawQs2TIfFZODK5ICav8eDJ01xekU3NiUH+QO5GlVRVzuvc8/hnhNpm1KTLXyaCv3Z9o"
                "BY6kZPLjYRtqYHb55jUVsKdAn1PU=\n"
                "PublicExponent: AQAB\n"
                "PrivateExponent: FEMpqWVAOb0qjxd+x2ID3B01MDqDbr6xyckH0dYEkBk3ld24IALRWPnpz94"
                "pPmbmsob6zn4rE3xBabxMHbb8IayJfl+ZVPxuleAmgqYsMisXCT4hr1/jMSd95bAADpJWGypjj6Q"
                "gPo7Ug5nuIjDAhP+0ui1Ds6zySabJsQA1fwE=\n"
                "Prime1: ya+qCuOLDyJumtnGWx02DmhWrVKBOcOss3N92EGelcGWs5vLysTB1bl3uFUM/3LEMmqG"
                "QeEz4fmGNbmEpalTQQ==\n"
                "Prime2: yOAUDyNfSefWjNuffeTY/6WZCQFaQn9ZyvqHBesgGc77izmXt+V5szsWaBiE8rpW9V4L"
                "OLTuqXW6VEV12Yn4tQ==\n"
                "Exponent1: NNx2y/3Rn7jdlnaHt6/TUDlmpmzec95mcG5PyJOCViv0LMUjx9SEHVlMGKMqEfXpm"
                "HE1GSVGbO7yjzg9nRHhQQ==\n"
                "Exponent2: Jx3Lii8fLSsiUoeqBT/9Kbs7k89Znj1iZO5oQLTKqXvu6+upKbxb+JT3BgpQSVwT9"
                "u/7S22gVAuC30ovas89SQ==\n"
                "Coefficient: QVqXrTMFc3VEDcIUXNLESuZ33pSCR7T2F9hNandTs1QoCIhEDSW3wCVd2n9OIXT"
                "iDdeUBwtlL+G5uyP5/iEOfA==\n"
                "Created: 20261123211550\n"
                "Publish: 20261123211550\n"
                "Activate: 20261123211550\n",
            .ds = "skydns.local. IN DS 61188 5 2 "
                  "A33AF9AA8B3CAD18343274B62A191754EE8DD1272C6ABA305419CB3928727AD1",
        },
    [SAMPLE_NSEC3RSASHA1] =
        {
            .base = "Kskydns.local.+007+35149",
            .public_text =
                "; This is a key-signing key, keyid 35149, for skydns.local.\n"
                "; Created: 20261123211550 (Mon Nov 23 21:15:50 2026)\n"
                "; Publish: 20261123211550 (Mon Nov 23 21:15:50 2026)\n"
                "; Activate: 20261123211550 (Mon Nov 23 21:15:50 2026)\n"
                "skydns.local. IN DNSKEY 257 3 7 AwEAAcm+DbOegcxFUC3vvDccpSRFI8Srf+jf9HLIwAiN"
                "5nYtm5Ra/HYk n3Idru2O3tluXp2EXK7RVFuLDcWzTgkYY5Gy2vFC1foG9WlrS8nFKVfQ H3vBmB"
                "CfI8dpuODsiKDSipsDJdQ+T3EeAELr1UlbBwjIqq5EJZw35zK4 tGfFT421\n",
            .private_text =
                "Private-key-format: v1.3\n"
                "Algorithm: 7 (NSEC3RSASHA1)\n"
                "Modulus: yb4Ns56BzEVQLe+8NxylJEUjxKt/6N/0csjACI3mdi2blFr8diSfch2u7Y7e2W5enYR"
                "crtFUW4sNxbNOCRhjkbLa8ULV+gb1aWtLycUpV9Afe8GYEJ8jx2m44OyIoNKKmwMl1D5PcR4AQuv"
                "VSVsHCMiqrkQlnDfnMri0Z8VPjbU=\n"
                "PublicExponent: AQAB\n"
                "PrivateExponent: Zl2fSjL1nZbWFlj84eIREZRbj+GNp7ZrrQqcFjsaY4DE3sREMhZnKVpSdov"
                "2G9HbBIYzGSlyanjmZhiTUh4j9tP2wFe9ll/wkypzub1yix6OwjmYdR+VNJu3TdXmAnf65wIU1Sa"
                "9zUr2DytkknRDO2uMmvzNvfbG9gNWDDznA8E=\n"
                "Prime1: /mqktZkd13BhGDmPtCS7aUolWJORSPZlKHYSkrxtvor9Lr2mrHJAqg/hMKHBnidybgft"
                "h/iRoAkqnDBhVlGz2Q==\n"
                "Prime2: yv98RwuDUeCuI3FIwuC7fpNvEqr9viX2Djy2YmPiaklARap3alVgDa3xuZI8dQj511U9"
                "9eRwtxWnV1iIa4xrPQ==\n"
                "Exponent1: OVxh9m+nQsOboJKZy8vcVUjaUrYys3iaJh044syJEcTUgI1R3t+DpNQfuY8+0CGks"
                "xome9mXO7XVXZGq4INbQQ==\n"
                "Exponent2: b/XtY3nUGeqj4ORwTxuIDc3fKxqoDKH/TebqaOXSUPDJxCK67ijca28OrV0cfyhON"
                "BfNrrsp97C3tRMdWsP9uQ==\n"
                "Coefficient: RgINwcWwK/bnnJ+8RDLcVX4n2Bqr/rEzHG+x+X+Zyp56CAQwLanPewNgEea/G5Y"
                "kPTE+Jfn8zBfrU1QNSjgrHw==\n"
                "Created: 20261123211550\n"
                "Publish: 20261123211550\n"
                "Activate: 20261123211550\n",
            .ds = "skydns.local. IN DS 35149 7 2 "
                  "083F6D5ADDFA3A4D90303941124DEC20410641676D37A4253131447560C0E1F5",
        },
    [SAMPLE_LDNS_ECDSAP256] =
        {
            .base = "Kcluster.local.+013+48478",
            .public_text =
                "cluster.local.\tIN\tDNSKEY\t256 3 13 Wpxi7tn7XieXv5kG04vf4qnFH+hYBy9BClkRVGK54o"
                "huW01zIBNLp3Cu0NrN9sGU+xUBWEgPRHm8Ql1MAMORog== ;{id = 48478 (zsk), size = 25"
                "6b}\n",
            .private_text = "Private-key-format: v1.2\n"
                            "Algorithm: 13 (ECDSAP256SHA256)\n"
                            "PrivateKey: ryh99Qx23QOtqNok4SXg/4i01mkwHD8s9XD7vMar1Xo=\n",
            .ds = "cluster.local. IN DS 48478 13 2 "
                  "55D8F9D863DEF84E1F11D4253554AFED0546985B9E075F0C5581C244E5945F6C",
        },
    [SAMPLE_LDNS_ECDSAP384] =
        {
            .base = "Kcluster.local.+014+19311",
            .public_text =
                "cluster.local.\tIN\tDNSKEY\t257 3 14 MRs1pqRt1tRGrfpaC5Fjcwn4bFpLCb1vP6hhH4m1bc"
                "kRwsqZT2L3Gy2jjeG6uHOTIv+XTPwaGIm+uTQ5zBZu9uAJPs21JPv+5zkq6p0TgPFUfHTrDVWwt7"
                "zHweiBbQzs ;{id = 19311 (ksk), size = 384b}\n",
            .private_text =
                "Private-key-format: v1.2\n"
                "Algorithm: 14 (ECDSAP384SHA384)\n"
                "PrivateKey: e1bhF+qH+fsWlRzjXr9HzrNzNF3sdQgP+ahEkZeMpVZvUGkx2FuQc7xfrOkvA82x"
                "\n",
            .ds = "cluster.local. IN DS 19311 14 2 "
                  "1FC5FF5A6B957F578F9F074B267B100AC2C3C1E5DE28676BC0B413FC5391BDE0",
        },
    [SAMPLE_LDNS_ED25519] =
        {
            .base = "Kcluster.local.+015+63246",
            .public_text =
                "cluster.local.\tIN\tDNSKEY\t257 3 15 w9PK0AfOMM9BJ/G/s1KyaFo6wyoUq5BbiZqoDtwfwu"
                "U= ;{id = 63246 (ksk), size = 256b}\n",
            .private_text = "Private-key-format: v1.2\n"
                            "Algorithm: 15 (ED25519)\n"
                            "PrivateKey: 2Uy/HK8Yrp8yeXdOtZfYFX3nNdY71IGD5qlAzPpbDW8=\n",
            .ds = "cluster.local. IN DS 63246 15 2 "
                  "328DC8ED19374F81C1861F65E1E9FC8474DEAC98F2A57BFE07C66F00B188E987",
        },
    [SAMPLE_LDNS_RSASHA256] =
        {
            .base = "Kcluster.local.+008+25413",
            .public_text =
                "cluster.local.\tIN\tDNSKEY\t256 3 8 AwEAAcJsKb8E3LiqPiVYos5RP0AQWLcX+EWeQcTR+rA"
                "xqGCnVTdm5X65gE/yZE5bjFZj/Ic2+RIORiJzxg3VnyF7AsBCgb4t1/p6h0Abkm20sdKjXHcGQ/T"
                "thUEiq04c3gRIpzOMQPdIRuCqkjs1wIzO+MfIUtbq48+byKO+HBiYAn4d ;{id = 25413 (zsk)"
                ", size = 1024b}\n",
            .private_text =
                "Private-key-format: v1.2\n"
                "Algorithm: 8 (RSASHA256)\n"
                "Modulus: wmwpvwTcuKo+JViizlE/QBBYtxf4RZ5BxNH6sDGoYKdVN2blfrmAT/JkTluMVmP8hzb"
                "5Eg5GInPGDdWfIXsCwEKBvi3X+nqHQBuSbbSx0qNcdwZD9O2FQSKrThzeBEinM4xA90hG4KqSOzX"
                "AjM74x8hS1urjz5vIo74cGJgCfh0=\n"
                "PublicExponent: AQAB\n"
                "PrivateExponent: UxRvXl4Qh6TP+5t9rpZPZevWTR8kC3PN/PIRotsFbY/zvUHuDZHtP7x/mnB"
                "Kbtw5G/qkwk9xLuW0G1NOtbrf+FOFXZjsnF9oggQjB+NAe6i4aiUAfLJ0GibLTSZFP9w2LdjQXgl"
                "RxLiYMHAc9kpU9kCssZkOyIZkMQxdrj/0/I0=\n"
                "Prime1: 4XAD6Q2BZCui4ogXfzpKiHUaDU1z1FHIzAlqhzeTTXtMlepovyLgF00vD/TT3AhgwkAB"
                "8QJMbBuQoxG1PjPdNw==\n"
                "Prime2: 3Me/IRMBgsPGR4BZiJ8KdQRsowLnDRKOXqUkz6XILyhDcbAWWYjwdLrN7gDUS/2Wf1dv"
                "MNpNyBceMq6ozyRJSw==\n"
                "Exponent1: I94JkTvH2WMj8DzM2D4y+5D+Cx3GjwJQGz5oR4ktE4fJgJSiA78NvkdWdIh0aK6gj"
                "mdWp7zA4fZkxb0chAAGcw==\n"
                "Exponent2: x3L32mQ2GDDOfieYOtEafE4L6lOj8W5TCXN9Rs1IhDmGfD0MY8RPHdToVluPbjrf6"
                "5hMTcDZRaqE0FpzC/aG8w==\n"
                "Coefficient: QbRbEcpEtAfn34wuKcR47RBzhFVNT6Ib9RG+Mh8txdzucN1nqyWnaOhi9ZcI4Pi"
                "cfdZVuxGE09jeMu2lAGGQwQ==\n",
            .ds = "cluster.local. IN DS 25413 8 2 "
                  "19920C459EA4FEA7009C01D8CFCF5658521D27228C3D2A3449002ED9EC16AD3C",
        },
    [SAMPLE_LDNS_RSASHA512] =
        {
            .base = "K10.in-addr.arpa.+010+25737",
            .public_text =
                "10.in-addr.arpa.\tIN\tDNSKEY\t256 3 10 "
                "AwEAAbz8nG9jU3+0t2aIi0kf5ckRPvNBD1TL96Mq"
                "5vdVpoYLMdJqPmG82h8Hbp7C384Bnw5H4xI+jf8TzVC8CF9+N6/e0Ll0kFRDO0ptD5ianWTBpoli"
                "57QUcpkSVJ/CNAeWx05Z2Snq8b27acTFyM9XpwV3tUHv6CJUm32EVz27zU4z ;{id = 25737 (z"
                "sk), size = 1024b}\n",
            .private_text =
                "Private-key-format: v1.2\n"
                "Algorithm: 10 (RSASHA512)\n"
                "Modulus: vPycb2NTf7S3ZoiLSR/lyRE+80EPVMv3oyrm91Wmhgsx0mo+YbzaHwdunsLfzgGfDkf"
                "jEj6N/xPNULwIX343r97QuXSQVEM7Sm0PmJqdZMGmiWLntBRymRJUn8I0B5bHTlnZKerxvbtpxMX"
                "Iz1enBXe1Qe/oIlSbfYRXPbvNTjM=\n"
                "PublicExponent: AQAB\n"
                "PrivateExponent: X5ugfI2QWYQQYHPlmzni4wSxhxi769dAUbDLpgcTtq6FJwEOzB1hb98vrGv"
                "EE5EoaW4ex0UUSx42eYiW59CP1K83aRHBVYglz8GEIjycPsmCWsD++NBZyZ2CAeCN4+SztDcL09I"
                "7e1kU1omNYZnvdm8CLo+umqM8zwJqdaT4WZk=\n"
                "Prime1: 7b5bZ9sV5lpgmBxttc3vdynhUd6tuVlE8Y0cvzCc7pmq7EISGSdLW2vmbmbR9DMDBreB"
                "ZfKFOs6/E+jXjYyAnQ==\n"
                "Prime2: y3/GsAKzmXUSFJruKuyCqI/xOyBQUtEqYGvZYMRsOETLlLDKY8Z3QB/YYKIu/tYXKWb3"
                "SrCTMhB9H3ZERelJDw==\n"
                "Exponent1: oubuZuldxitjSJciLZLgZLyToa99RiV+8iyI6BB9V5h/38cd85JTNl9m03ssnbFef"
                "3m59osI81S65P+Ew37kmQ==\n"
                "Exponent2: QWvhp0InFQWS+3bXbIs+cgxchCKeUBGYawkhCD/9fpV3UWUIm8z5F29lc6OQMjMHn"
                "TLR+3wKxkSQxSWTS1p1Nw==\n"
                "Coefficient: MgD8cf42wKzVr/xRZBO1RJPPB7RgBecYBFdrNU17RXWnCH7eSTXl51gCcs1WX7G"
                "M6W+1IY0WTfudPnT/8gJDfA==\n",
            .ds = "10.in-addr.arpa. IN DS 25737 10 2 "
                  "6E4CEA335FE296CF3842FACFC94A2DDF1043681A00343F7794D7979624592F49",
        },
    [SAMPLE_LDNS_RSASHA1] =
        {
            .base = "Kcluster.local.+005+15187",
            .public_text =
                "cluster.local.\tIN\tDNSKEY\t256 3 5 AwEAAbbwAcKYPrGuzit6qqtijXa6+7F1WXAzUNKvDPa"
                "ICzf4bQpyrvLPkeNxa+jZnBLqlV/szZb5Ac7AY0NzxWF+0nFLOumJ8IWBTqLk+dcvi/81b2APphT"
                "lA1CaY9v9opBVFH2oJY2t6u01qmD1Qctlg+XmT/BiAAnFOmYMD2nhczoL ;{id = 15187 (zsk)"
                ", size = 1024b}\n",
            .private_text =
                "Private-key-format: v1.2\n"
                "Algorithm: 5 (RSASHA1)\n"
                "Modulus: tvABwpg+sa7OK3qqq2KNdrr7sXVZcDNQ0q8M9ogLN/htCnKu8s+R43Fr6NmcEuqVX+z"
                "NlvkBzsBjQ3PFYX7ScUs66YnwhYFOouT51y+L/zVvYA+mFOUDUJpj2/2ikFUUfaglja3q7TWqYPV"
                "By2WD5eZP8GIACcU6ZgwPaeFzOgs=\n"
                "PublicExponent: AQAB\n"
                "PrivateExponent: mYcZYw/UZdhXrMO44jbGlGNeglMC6ZgXd4lzrp8EE0gJcyBGVP8A58mzj2q"
                "5gmKfVC7vZ4m5C6QIan6Jo0YFI6V8K9eBKsReBvmvSQXvA8coakrmTznEMK84/Nru1BicATVAgGH"
                "uNgiFhbqQmfu5vrPojwbKTDeiwG4h5ZPN5Rk=\n"
                "Prime1: 6ZM0Dts6Lt4iZNsynbCy30EZsMxaKQChay3UHEcan+QRleq3eOyJJBTpSEAWv6haAKVy"
                "9Br4RPpT1BO12B2X3w==\n"
                "Prime2: yIA80L5sDxvmoBXXtkJNgQ1We5f5q/NeeWGkiS4S8oeiNfCxYP+2gn5sDZ9XI2PB3NEO"
                "n6F/4I5Nk9spHu3TVQ==\n"
                "Exponent1: XMoIrTo0A/hk63IUyoYumPgwr4aO7qj8dyqOj+lDT293+Pl0h4pX9MiF4BjtsJe9o"
                "XIYl5a7OBPGB4MJA2DGOw==\n"
                "Exponent2: AvFu8xl4eJhOQFdRvUkn3hcWB+ZpMc72ug1m3uSgPpMjHGuWDvhx82RrrZ+DJe/W7"
                "qja8BjsyZ0NInh7GAshqQ==\n"
                "Coefficient: eXjp4twWJJbCqxGxuaVMEPf12UUlwelcHir6uffaGnoSCoY7iYj1SJNwhNXDvGY"
                "RLUfmqowPf4XZuEYHXlcfdw==\n",
            .ds = "cluster.local. IN DS 15187 5 2 "
                  "8ED871361B8D871D304395807ACEE281752BE0116B930C93603EA24AC272C809",
        },
    [SAMPLE_LDNS_NSEC3RSASHA1] =
        {
            .base = "Kcluster.local.+007+26477",
            .public_text =
                "cluster.local.\tIN\tDNSKEY\t256 3 7 AwEAAcUEQLlewu1Up9y4g8EO/xF3X6/D6w+Ybd3wzs2"
                "1xzI+V1SB/mNKDlr+0OmH36P3AmxxAmCMMV/TVhbGCZn4kbrFz8tBTvqAOXonJDsY422wDtjQa6M"
                "T1myW1Qq6fFueRwtqgcWwCpPHyufq289PNStAiyKZDkCcgWtpr4UfqpQV ;{id = 26477 (zsk)"
                ", size = 1024b}\n",
            .private_text =
                "Private-key-format: v1.2\n"
                "Algorithm: 7 (RSASHA1_NSEC3)\n"
                "Modulus: xQRAuV7C7VSn3LiDwQ7/EXdfr8PrD5ht3fDOzbXHMj5XVIH+Y0oOWv7Q6Yffo/cCbHE"
                "CYIwxX9NWFsYJmfiRusXPy0FO+oA5eickOxjjbbAO2NBroxPWbJbVCrp8W55HC2qBxbAKk8fK5+r"
                "bz081K0CLIpkOQJyBa2mvhR+qlBU=\n"
                "PublicExponent: AQAB\n"
                "PrivateExponent: pE5nrDDbYBK569n2B4v6LRbhNjSuVNNKzU2HKwfumHhlXJUNEsEwN7NLh3d"
                "Ji/T0kHuu/9XrV39ozJVcbIxg+2s0oZuoOS7rHp1vXzIr00FRfQvIPMuVzviSxrKA7ynq1XjZ/WJ"
                "omoLrxc5IpaULSuJI41HXgSSUs82SDcl/cgE=\n"
                "Prime1: 8ziI5Lx98hhKSrNC4NmwTy8SdroVigyjbYcJtF11Ff6U32GiQWRFiUv6Qq1KVg3eClrY"
                "YjDY1b/8v2CRkgIiHw==\n"
                "Prime2: z14+Y2u4GaaE9Ftm+aKYS7fp4qlrRad89BaM/WRJ2pjNm7Cr17CDGUugpR3KAVFYFuue"
                "Bgb74Qhc0Yzf8ITLSw==\n"
                "Exponent1: pRTgRXByg5ldA2q8n+ThOD2Y6KDQ8cw2OKcJPTSZvf33ic641G18jP3WtN7tr47mA"
                "F08tRi2dA5FPJgM9e8gvQ==\n"
                "Exponent2: eMZxG8KvVPExWoiprxdOEDurkwINomHsWtWPhD2W7iQ1DEqXq2X41RDBHan970qLP"
                "b45KVWD+gq+1KVyAEm3hQ==\n"
                "Coefficient: gzKsgvfBBJaRds+jCbsBHPLmpdsMkoucyDlLPD1clo1Jj/RiX1hiQWCNx0zlKD7"
                "5ccGEr0W3JOMhhBh+mc/MjQ==\n",
            .ds = "cluster.local. IN DS 26477 7 2 "
                  "09A3ED521071AE01A2D17C89F7F68E41D3F251D7BCAD1E1213E580583CDCBE1F",
        },
};

"""Runs of the answer benchmark as its rounds make them, for the tests of what becomes of them."""


def figures(server_us: float, **more: float) -> dict[str, float]:
    right = {"generator_used": 0.99, "lost": 0, "errors": 0, "qps": 1e5, "p50_us": 20, "p99_us": 40}
    kinds = {"answers": 1000, "records": 1000, "nodata": 0, "nxdomain": 0, "others": 0}
    return right | kinds | {"server_us": server_us} | more


def one_run(number: int, server: str, server_us: float, faults=(), pattern: str = "a", services: int = 10_000) -> dict:
    return {
        "services": services,
        "round": number,
        "pattern": pattern,
        "server": server,
        "figures": figures(server_us),
        "faults": list(faults),
    }


def quiet_runs() -> list[dict]:
    """skydns takes 1.1, 1.0 and 1.3 times as long as the bare responder, on a machine that slows down a little."""
    runs = []
    for number, speed in enumerate((1.0, 1.02, 1.04)):
        runs += [one_run(number, "bare", us * speed) for us in (0.99, 1.01)]
        runs += [one_run(number, "skydns", us * speed) for us in ((1.1, 1.0, 1.3)[number],)]
        runs += [one_run(number, "gdnsd", 1.2 * speed)]
    return runs

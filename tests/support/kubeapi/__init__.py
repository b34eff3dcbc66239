"""A small Kubernetes API server for tests, benchmarks and `make run`: see ../apiserver.py."""

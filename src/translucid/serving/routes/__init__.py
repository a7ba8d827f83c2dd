"""The endpoints under /v1, /health and /metrics: each module has a function `router`."""

"""The server: translations and a look inside them over HTTP, and the page that shows both.

::

    server            the process: socket, signals, limits on every connection
    app, state        the application, and what its routes share
    config            every limit and timeout
    middleware, auth  what every request passes: log, metrics, host names, API keys, its body
    request_bodies    strict parsing of bodies
    schemas           fields of bodies and answers (traces: trace_schemas)
    problems          errors as problem+json
    routes/           /v1/translate, /v1/trace, /v1/models, /v1/runs, /health, /metrics
    libretranslate    LibreTranslate's endpoints (languages: detection and names)
    openapi           the OpenAPI document; reference_page renders it at /docs
    page              the files of the explorer (static/)
    served_models     the models, and which one a request means
    traces, runs      stored traces; training runs and the films of their checkpoints
    metrics           measurements for Prometheus
    engine/           micro-batches, streams and jobs, for many clients at once
"""

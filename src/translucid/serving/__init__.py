"""The server: translations and a look inside them over HTTP, and the page that shows both.

::

    running, connection   a process and its connections: signals, bounds on headers
    app, state            the application, and what its routes share
    request_course,       what every request passes: log and measurements, names, keys, the body
    gates, headers        within its limits, the end of the work when a client goes away
    access, settings      keys and names of a server; every limit and time
    bodies, schemas       strict bodies; fields whose limits are settings
    answers, problems     JSON and problem+json
    routes_translate      translate, stream, score      (translation_schemas, translation_json,
                                                        event_stream)
    routes_models         models, health, measurements  (model_schemas, metrics)
    routes_trace,         traces and their tensors, the next token, training runs
    routes_next,          (trace_*, traces, bounded_store, tensor_bytes; runs, run_events, films)
    routes_runs
    compat                LibreTranslate's endpoints    (compat_forms, detection, language_names)
    openapi,              the OpenAPI document, the reference made of it, the explorer's files
    reference_*, page
    served_models         which models there are, and which one a request means
    engine                micro-batches, streams and jobs, for many clients at once
                          (engine_*, admission, batching, waiting_line, worker, tasks, streams,
                          side_threads, abandoning)
"""

"""The engine of the server: micro-batches, streams and single jobs, with a bounded queue."""

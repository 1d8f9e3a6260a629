"""The operators' door: HTTP/1.1 with JSON over a Unix socket, or over loopback.

A *request* is answered with a *reply*: one JSON object, or a *stream* of JSON lines that
goes on as long as there is something to say. `http.py` knows HTTP and nothing of the
gateway, `api.py` knows the gateway and nothing of HTTP, `server.py` binds them to a
socket, `client.py` is the other end.
"""

"""Headers of every answer that keep a browser from doing what the page never asks it to do."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_OWN_SITE_ONLY = ("cross-origin-resource-policy", "same-origin")
_UNSTORED = ("cache-control", "no-store")


class Headers:
    """Adds the security headers; what does not say how long it lasts is not kept by any cache."""

    def __init__(self, app: ASGIApp, *, shared: bool) -> None:
        """`shared`: pages of other sites may read answers, so that CORS alone decides who."""
        self._app = app
        pairs = SECURITY_HEADERS.items() if shared else (*SECURITY_HEADERS.items(), _OWN_SITE_ONLY)
        self._headers = [(name.encode(), value.encode()) for name, value in pairs]
        self._unstored = tuple(part.encode() for part in _UNSTORED)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add headers to its answer."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message["headers"])
                if not any(name.lower() == self._unstored[0] for name, _ in own):
                    own.append(self._unstored)
                message["headers"] = [*own, *self._headers]
            await send(message)

        await self._app(scope, receive, send_with_headers)

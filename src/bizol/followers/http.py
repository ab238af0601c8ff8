"""A follower behind an address."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, final
from urllib.parse import urlsplit

from bizol.arrays import ArgumentError, Point, as_positive
from bizol.followers.json_lines import read_answer, write_question

LOCAL = ("localhost", "127.0.0.1", "::1")


@final
@dataclass(frozen=True, slots=True)
class Http:
    """Ask a service that answers over HTTP.

    `{"x": [...], "seed": null}` is posted to the address, which answers `{"y": [...]}`, or
    `{"error": "why"}`. A connection that fails and a status of 500 or above count as lost, and are
    asked again; any other status is final. Certificates are verified and redirects are not
    followed.

    Args:
        url: the address, https, or http where no token is sent or the service is on this machine.
        timeout: seconds after which a service that says nothing is given up.
        token: the name of an environment variable with a token, sent as a bearer token; it is read
            at every query, and neither kept nor written anywhere.

    Example:
        >>> Http("https://example.org/respond", token="MARKET_TOKEN")
        Http(url='https://example.org/respond', timeout=60.0, token='MARKET_TOKEN')

    """

    takes_seed: ClassVar[bool] = True

    url: str
    timeout: float = 60.0
    token: str | None = None

    def __post_init__(self) -> None:
        as_positive(self.timeout, "Http", "timeout")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ArgumentError(
                "Http", "url", f"must be an http or https address, got {self.url!r}."
            )
        if parts.username or parts.password:
            raise ArgumentError(
                "Http",
                "url",
                "must not hold a password; give the name of a variable as Http(token=...).",
            )
        if self.token and parts.scheme == "http" and parts.hostname not in LOCAL:
            raise ArgumentError(
                "Http", "token", "is sent by https only: over http anyone on the way can read it."
            )

    def __call__(self, x: Point, seed: int | None = None) -> Any:
        """Ask about one decision."""
        import urllib.error  # half as slow to import as everything else together, and seldom needed
        import urllib.request
        from http.client import HTTPException

        token = self._secret()
        request = urllib.request.Request(
            self.url,
            data=write_question(x, seed),
            headers={"Content-Type": "application/json"}
            | ({"Authorization": f"Bearer {token}"} if token else {}),
            method="POST",
        )
        try:
            with _opener().open(request, timeout=self.timeout) as reply:
                body = reply.read()
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(500).decode(errors="replace").strip()
            kind = ConnectionError if error.code >= 500 else PermissionError
            raise kind(_hide(f"status {error.code}: {said}", token)) from None
        except TimeoutError:
            raise TimeoutError(f"no answer within {self.timeout:g} seconds") from None
        except (urllib.error.URLError, HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise TimeoutError(f"no answer within {self.timeout:g} seconds") from None
            raise ConnectionError(_hide(str(reason), token)) from None
        return read_answer(body, hide=lambda text: _hide(text, token))

    def _secret(self) -> str | None:
        if self.token is None:
            return None
        if not (token := os.environ.get(self.token)):
            raise PermissionError(
                f"the environment variable {self.token} of Http(token=...) is not set"
            )
        return token


@cache
def _opener() -> Any:
    import urllib.request

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        """Lets a redirect be an error: it would take the token elsewhere."""

        def redirect_request(self, *_: object) -> None:
            return None

    return urllib.request.build_opener(NoRedirect)


def _hide(message: str, token: str | None) -> str:
    return message.replace(token, "***") if token else message

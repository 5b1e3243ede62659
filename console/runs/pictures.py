"""Pictures that imported logs hold: each stored once by the digest of its bytes, and read back by it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlmodel import Session, col, select

from console.trajectory import Picture
from storage import tables
from storage.queue.transaction import Transaction

_INSERT = """
INSERT INTO picture (digest, media_type, data) VALUES (:digest, :media_type, :data) ON CONFLICT (digest) DO NOTHING"""


def store_pictures(session: Session, pictures: Iterable[Mapping[str, object]]) -> None:
    """Inserts those that are not there yet: `digest`, `media_type` and `data` of each."""
    db = Transaction.joined(session)
    for picture in pictures:
        db.run(_INSERT, **picture)


def load_pictures(session: Session, wanted: Iterable[Picture]) -> dict[str, tuple[str, bytes]]:
    """(media type, bytes) by digest of those that are stored."""
    digests = {picture.digest for picture in wanted}
    if not digests:
        return {}
    picture = tables.StoredPicture
    rows = session.exec(select(picture).where(col(picture.digest).in_(digests)))
    return {row.digest: (row.media_type, row.data) for row in rows}

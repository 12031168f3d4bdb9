"""What went over a link, in both directions."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class LinkMeter:
    """Messages are transmissions of a message over this link; bytes are those of whole frames."""

    messages_out: int = 0
    frames_out: int = 0
    data_bytes_out: int = 0
    control_bytes_out: int = 0
    messages_in: int = 0
    frames_in: int = 0
    data_bytes_in: int = 0

    def left(self, size: int, messages: int, frames: int = 1) -> None:
        """Bytes of frames have left, with so many messages; none: they were about the overlay itself."""
        if messages:
            self.messages_out += messages
            self.frames_out += frames
            self.data_bytes_out += size
        else:
            self.control_bytes_out += size

    def came(self, size: int, messages: int, frames: int = 1) -> None:
        self.messages_in += messages
        self.frames_in += frames
        self.data_bytes_in += size

    def as_dict(self) -> dict[str, int]:
        return asdict(self)

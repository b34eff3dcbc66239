"""A plot as SVG: groups of horizontal bars. Python's standard library only. Pure."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH, _MARGIN, _NAMES, _VALUES = 760, 16, 150, 60
_BAR, _GAP, _HEAD, _TITLE = 15, 3, 26, 46
_FONT = "font-family='DejaVu Sans,Verdana,sans-serif'"


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    color: str
    label: str = ""  # the text after the bar; else the value


@dataclass(frozen=True)
class Group:
    title: str
    bars: list[Bar]


def _text(x: float, y: float, size: int, content: str, more: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' {_FONT} {more}>{escape(content)}</text>"


def _bar(bar: Bar, top: float, per_unit: float, most: float) -> list[str]:
    """A bar longer than the plot ends with a gap and a stump."""
    left, middle = _MARGIN + _NAMES, top + _BAR - 3.5
    length = min(bar.value, most) * per_unit
    parts = [_text(left - 8, middle, 12, bar.name, "text-anchor='end' fill='#222'")]
    parts.append(f"<rect x='{left}' y='{top:.1f}' width='{length:.1f}' height='{_BAR}' fill='{bar.color}'/>")
    if bar.value > most:
        cut = left + length - 18
        parts.append(f"<path d='M{cut:.1f} {top + _BAR + 1} l6 -{_BAR + 2} h5 l-6 {_BAR + 2} z' fill='#fff'/>")
    parts.append(_text(left + length + 6, middle, 12, bar.label or f"{bar.value:.2f}", "fill='#222'"))
    return parts


def bars(title: str, subtitle: str, groups: list[Group], most: float, mark: float) -> str:
    """most: the value at the right edge; longer bars are cut. mark: the value of the dashed line."""
    left = _MARGIN + _NAMES
    per_unit = (_WIDTH - left - _MARGIN - _VALUES) / most
    height = _TITLE + sum(_HEAD + len(group.bars) * (_BAR + _GAP) for group in groups) + _MARGIN
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH}' height='{height}' viewBox='0 0 {_WIDTH} {height}'>",
        f"<rect width='{_WIDTH}' height='{height}' fill='#fff'/>",
        _text(_MARGIN, 22, 15, title, "font-weight='bold' fill='#111'"),
        _text(_MARGIN, 40, 11, subtitle, "fill='#555'"),
    ]
    y = float(_TITLE)
    for group in groups:
        parts.append(_text(left, y + 18, 12, group.title, "font-weight='bold' fill='#111'"))
        y += _HEAD
        for bar in group.bars:
            parts += _bar(bar, y, per_unit, most)
            y += _BAR + _GAP
    x = left + mark * per_unit
    parts.append(
        f"<line x1='{x:.1f}' y1='{_TITLE + 4}' x2='{x:.1f}' y2='{height - _MARGIN}' stroke='#111' "
        "stroke-dasharray='3 3' stroke-width='1'/>"
    )
    return "\n".join([*parts, "</svg>\n"])

# SPDX-License-Identifier: MIT
"""Writes heat maps of ratios as PNGs, using only zlib: red if Tessera is slower, white at 1, green if it is faster."""
import math
import statistics
import struct
import zlib

CELL_WIDTH, CELL_HEIGHT, MARGIN = 26, 13, 44
# Glyphs of 3x5 pixels; each digit holds the three bits of one line.
GLYPHS = {"0": "75557", "1": "26227", "2": "71747", "3": "71717", "4": "55711", "5": "74717", "6": "74757", "7": "71111", "8": "75757",
          "9": "75717", ".": "00002", "a": "25755", "b": "65656", "c": "34443", "d": "65556", "e": "74647", "f": "74644", "g": "34553",
          "h": "55755", "i": "72227", "j": "11152", "k": "55655", "l": "44447", "m": "57755", "n": "65555", "o": "25552", "p": "65644",
          "q": "25563", "r": "65655", "s": "34216", "t": "72222", "u": "55557", "v": "55552", "w": "55775", "x": "55255", "y": "55222",
          "z": "71247", "_": "00007", ",": "00024"}


class Picture:
    def __init__(self, width, height):
        self.width, self.height = width, height
        self.pixels = bytearray(b"\xff" * (3 * width * height))

    def fill(self, x, y, width, height, colour):
        for line in range(y, y + height):
            begin = 3 * (line * self.width + x)
            self.pixels[begin:begin + 3 * width] = bytes(colour) * width

    def write(self, x, y, text):
        for character in text:
            for line, bits in enumerate(GLYPHS.get(character, "00000")):
                for column in range(3):
                    if int(bits) >> (2 - column) & 1:
                        self.fill(x + column, y + line, 1, 1, (0, 0, 0))
            x += 4

    def save(self, path):
        step = 3 * self.width
        lines = b"".join(b"\0" + self.pixels[i * step:(i + 1) * step] for i in range(self.height))

        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        with open(path, "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def colour_of(ratio):
    """Full red at a quarter and below, full green at four times and above."""
    strength = min(1.0, abs(math.log2(max(ratio, 1e-3))) / 2)
    fade = int(255 * (1 - 0.8 * strength))
    return (255, fade, fade) if ratio < 1 else (fade, 255, fade)


def paint(picture, x, y, ratio):
    picture.fill(x, y, CELL_WIDTH - 1, CELL_HEIGHT - 1, colour_of(ratio))
    picture.write(x + 2, y + 4, f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}")


SIZES = ((100, "to 99"), (10_000, "to 1e4"), (100_000, "to 1e5"), (1_200_000, "to 1e6"), (1 << 62, "more"))


def size_class(cell):
    return next(i for i, (limit, _) in enumerate(SIZES) if cell["rows"] * cell["columns"] < limit)


def draw_overview(path, cells):
    """One line per operator; for each layout and dtype the median ratio of the cells of a size (elements of the matrix)."""
    cells = [cell for cell in cells if "ratio" in cell]
    if not cells:
        return
    titles, dtypes, layouts = (list(dict.fromkeys(cell[key] for cell in cells)) for key in ("op", "dtype", "layout"))
    names, panel, top = 64, CELL_WIDTH * len(SIZES) + 6, 30
    picture = Picture(names + panel * len(layouts) * len(dtypes), top + CELL_HEIGHT * len(titles) + 4)
    groups = {}
    for cell in cells:
        groups.setdefault((cell["op"], cell["layout"], cell["dtype"], size_class(cell)), []).append(cell["ratio"])
    for i, layout in enumerate(layouts):
        for j, dtype in enumerate(dtypes):
            x = names + panel * (i * len(dtypes) + j)
            picture.write(x, 4, f"{layout} {dtype}")
            for k, (_, name) in enumerate(SIZES):
                picture.write(x + k * CELL_WIDTH, 18, name)
    for row, title in enumerate(titles):
        picture.write(2, top + row * CELL_HEIGHT + 4, title)
    for (title, layout, dtype, size), ratios in groups.items():
        x = names + panel * (layouts.index(layout) * len(dtypes) + dtypes.index(dtype)) + size * CELL_WIDTH
        paint(picture, x, top + titles.index(title) * CELL_HEIGHT, statistics.median(ratios))
    picture.save(path)


def draw(path, title, cells):
    cells = [cell for cell in cells if "ratio" in cell]
    if not cells:
        return
    rows, columns = (sorted({cell[key] for cell in cells}) for key in ("rows", "columns"))
    dtypes, layouts = (list(dict.fromkeys(cell[key] for cell in cells)) for key in ("dtype", "layout"))
    width, height = MARGIN + CELL_WIDTH * len(columns), MARGIN + CELL_HEIGHT * len(rows)
    picture = Picture(width * len(layouts) + 4, height * len(dtypes) + 4)
    for i, dtype in enumerate(dtypes):
        for j, layout in enumerate(layouts):
            x, y = j * width, i * height
            picture.write(x + 4, y + 4, f"{title} {dtype} {layout}")
            for k, size in enumerate(columns):
                picture.write(x + MARGIN + k * CELL_WIDTH, y + MARGIN - 8 - 7 * (k % 2), str(size))
            for k, size in enumerate(rows):
                picture.write(x + 4, y + MARGIN + k * CELL_HEIGHT + 4, str(size))
    for cell in cells:
        x = layouts.index(cell["layout"]) * width + MARGIN + columns.index(cell["columns"]) * CELL_WIDTH
        y = dtypes.index(cell["dtype"]) * height + MARGIN + rows.index(cell["rows"]) * CELL_HEIGHT
        paint(picture, x, y, cell["ratio"])
    picture.save(path)

# SPDX-License-Identifier: MIT
"""Types: mypy finds nothing in the package, the stubs are what the extension module has, and a user's program is checked by them."""
import os
import subprocess
import sys
import tempfile
import unittest

import tessera

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(tessera.__file__)))
PROGRAM = """
import tessera as np
x: np.Array = np.zeros((2, 3)) + 1
y: np.Array = np.exp(x).sum(axis=0)[1:]
n: int = x.shape[0] + x.ndim
z: np.Array = np.ops.softmax(x, axis=-1)
step = np.capture(lambda x: x + 1)
step.save("step.tsr", inputs=["x"], outputs={"y": "result"})
w: np.Array = np.load_capture("step.tsr", device="cpu").inputs["x"]
limit: str = np.config("memory_limit")
np.config("threads", 4)
v: np.Array = np.nn.conv(x, x, padding=(1, 2)) + np.nn.max_pool(x, size=2, padding="valid")
wrong: str = x @ y
x.summ()
np.ops.softmax(x, acis=1)
np.config("threads", 0.5)
"""


def run(*words):
    env = os.environ | {"MYPYPATH": FOLDER, "PYTHONPATH": FOLDER, "MYPY_CACHE_DIR": os.path.join(FOLDER, "mypy-cache")}
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, env=env, check=False)
    return done.returncode, done.stdout + done.stderr


@unittest.skipIf(run("mypy", "--version")[0], "no mypy (scripts/setup test)")
class Types(unittest.TestCase):
    def test_the_package_has_no_errors(self):
        status, text = run("mypy", "--strict", "--no-warn-return-any", "--implicit-reexport", "-p", "tessera")
        self.assertEqual(status, 0, text)

    def test_all_names_are_listed(self):
        modules = {name for name, value in vars(tessera).items() if isinstance(value, type(os))} - {"linalg", "nn", "ops", "optim", "random"}
        public = {name for name in vars(tessera) if not name.startswith("_")} - modules
        self.assertEqual(public - set(tessera.__all__), set())
        self.assertEqual({name for name in vars(tessera.nn) if not name.startswith("_")}, set(tessera.nn.__all__))

    def test_stubs_are_what_the_extension_has(self):
        status, text = run("mypy.stubtest", "tessera._core", "tessera.ops", "--concise")
        self.assertEqual(status, 0, text)

    def test_a_program_is_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "program.py"), "w", encoding="utf-8") as file:
                file.write(PROGRAM)
            status, text = run("mypy", "--strict", file.name)
        lines = [line for line in text.splitlines() if ": error:" in line]
        self.assertEqual([line.split(":")[1] for line in lines], ["13", "14", "15", "16"], text)
        self.assertEqual(status, 1)


if __name__ == "__main__":
    unittest.main()

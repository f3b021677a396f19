"""Found by a Python that `python -m tenure run` started: installs Tenure, then runs the sitecustomize it hides."""

import os
import sys


def _install() -> None:
    try:
        import tenure
    except ImportError as error:
        print(f"tenure: this Python cannot be served: {error}", file=sys.stderr)
        return
    tenure.install()


def _run_hidden() -> None:
    """Run the sitecustomize that comes after this one on the path, if there is one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.dirname(os.path.abspath(__file__))
    spec = PathFinder.find_spec("sitecustomize", [p for p in sys.path if os.path.abspath(p or ".") != here])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


if os.environ.get("TENURE_RUN") == "1":
    _install()
_run_hidden()

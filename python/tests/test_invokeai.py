"""The integration of InvokeAI, inside the real InvokeAI 6.14.2 where that is installed; `make peers` runs them so.

The last tests need no InvokeAI: they ask which of some classes may claim a file, and what becomes of other versions.
"""

import gc
import hashlib
import importlib.util
import json
import os
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import TOP

import tenure
from tenure.integrations import invokeai as integration
from tenure.integrations.invokeai._classes import Candidates

sys.path.insert(0, str(TOP / "tests/support"))
import tenure_files

needs_invokeai = pytest.mark.skipif(importlib.util.find_spec("invokeai") is None, reason="InvokeAI is not installed")
MODELS = {  # rows of the corpus and what InvokeAI's own rules say of them where the file fits into memory
    "te/sd15_nai_clip_ckpt": ("Main_Checkpoint_SD1_Config", "sd-1"),
    "te/sdxl_refiner_ckpt": ("Main_Checkpoint_SDXLRefiner_Config", "sdxl-refiner"),
    "native/sd21_inpaint_unet": ("Main_Checkpoint_SD2_Config", "sd-2"),
    "native/flux1_dev": ("Main_Checkpoint_FLUX_Config", "flux"),
}


def write(path, row):
    tenure_files.write_safetensors(path, tenure_files.corpus_tensors(row))
    return path


def rows(name="headers.ndjson.gz"):
    return {row["id"]: row for row in tenure_files.corpus_rows(name) if row.get("id")}


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """The modules of InvokeAI, imported before Tenure is installed."""
    os.environ["INVOKEAI_ROOT"] = str(tmp_path_factory.mktemp("root"))
    import invokeai.app.api.dependencies  # noqa: F401  (as the application does; the factory alone meets a circle)
    from invokeai.app.services.model_install.model_install_common import ModelInstallJob
    from invokeai.backend.model_hash.model_hash import ModelHash
    from invokeai.backend.model_manager.configs import factory
    from invokeai.backend.model_manager.configs.base import Config_Base
    from invokeai.backend.model_manager.model_on_disk import ModelOnDisk

    return SimpleNamespace(
        ModelInstallJob=ModelInstallJob,
        ModelHash=ModelHash,
        Config_Base=Config_Base,
        ModelOnDisk=ModelOnDisk,
        factory=factory,
        classify=lambda path, **more: factory.ModelConfigFactory.from_model_on_disk(path, {"hash": "given", **more}),
    )


@pytest.fixture
def under(app):
    """InvokeAI with Tenure under it."""
    tenure.install()
    yield app
    tenure.uninstall()


def seams(app):
    """Everything of InvokeAI that is replaced."""
    spandrel = sys.modules["invokeai.backend.model_manager.configs.spandrel"].Spandrel_Checkpoint_Config
    return [
        vars(owner)[name]
        for owner, name in (
            (sys.modules["invokeai.backend.model_manager.model_on_disk"], "safetensors"),
            (app.factory.ModelConfigFactory, "from_model_on_disk"),
            (app.Config_Base, "CONFIG_CLASSES"),
            (spandrel, "_validate_spandrel_loads_model"),
            (app.ModelHash, "_blake3"),
            (app.ModelHash, "_blake3_single"),
            (app.ModelHash, "_get_hashlib"),
            (app.ModelInstallJob, "set_error"),
        )
    ]


@needs_invokeai
def test_everything_is_replaced_once_and_set_back(app, caplog):
    before = seams(app)
    classes = set(app.Config_Base.CONFIG_CLASSES)
    tenure.install()
    tenure.install()
    try:
        assert all(now is not then for now, then in zip(seams(app), before, strict=True))
        assert set(app.Config_Base.CONFIG_CLASSES) == classes
    finally:
        tenure.uninstall()
    assert all(now is then for now, then in zip(seams(app), before, strict=True))
    said = [record.message for record in caplog.records if "InvokeAI" in record.message]
    assert len(said) == 1
    assert "6.14" in said[0]
    assert "tenure.uninstall()" in said[0]


@needs_invokeai
@pytest.mark.parametrize("name", MODELS)
def test_models_are_what_invokeai_says_and_only_the_header_is_read(under, tmp_path, name):
    path = write(tmp_path / "model.safetensors", rows()[name])
    under.classify(path)
    before = tenure.memory()["read"]
    config = under.classify(path).config
    assert (type(config).__name__, config.base.value) == MODELS[name]
    assert tenure.memory()["read"] - before < 4 << 20
    if name == "te/sd15_nai_clip_ckpt":  # InvokeAI's own work on a match was done
        assert (config.default_settings.width, config.default_settings.height) == (512, 512)


@needs_invokeai
def test_invokeais_own_rules_say_the_same_of_unread_tensors(app, tmp_path, monkeypatch):
    """Every header of the corpus that is a small enough file to be mapped everywhere, with every class asked."""
    path, compared = tmp_path / "model.safetensors", 0

    def said():
        result = app.classify(path)
        matches = sorted(k for k, v in result.details.items() if isinstance(v, app.Config_Base))
        return matches, getattr(result.config, "variant", None)

    monkeypatch.setattr(Candidates, "choose", lambda *_: None)
    for name in ("headers.ndjson.gz", "loras.ndjson.gz"):
        for row in tenure_files.corpus_rows(name):
            if tenure_files.write_safetensors(path, tenure_files.corpus_tensors(row)) > 1 << 30:
                continue
            alone = said()
            tenure.install()
            try:
                assert said() == alone, row.get("id")
            finally:
                tenure.uninstall()
            compared += 1
            gc.collect()
    assert compared >= 50


@needs_invokeai
def test_what_invokeai_has_no_class_for_is_claimed_by_none(app, tmp_path):
    """InvokeAI's own rules take Segmind Vega for SDXL."""
    path = write(tmp_path / "model.safetensors", rows()["native/segmind_vega_unet"])
    assert app.classify(path).config.base.value == "sdxl"
    tenure.install()
    try:
        result = app.classify(path)
        forced = app.classify(path, base="sdxl").config
    finally:
        tenure.uninstall()
    assert type(result.config).__name__ == "Unknown_Config"
    assert "segmind-vega" in str(result.details["Tenure"])
    assert forced.base.value == "sdxl"  # whoever says what it is is not contradicted


@needs_invokeai
def test_a_restorer_is_found_by_spandrel_and_nothing_else_is_read_for_it(under, tmp_path):
    row = next(iter(tenure_files.corpus_rows("restorers.ndjson.gz")))
    config = under.classify(write(tmp_path / "up.safetensors", row)).config
    assert type(config).__name__ == "Spandrel_Checkpoint_Config"
    strange = tmp_path / "strange.safetensors"
    tenure_files.write_safetensors(strange, [(f"thing.{i}", "F32", (4096, 4096)) for i in range(8)])
    before = tenure.memory()["read"]
    assert type(under.classify(strange).config).__name__ == "Unknown_Config"
    assert tenure.memory()["read"] - before < 1 << 20


@needs_invokeai
def test_a_damaged_file_is_refused_with_the_reason_and_not_recorded_as_unknown(app, tmp_path):
    path = tmp_path / "cut.safetensors"
    tenure_files.write_safetensors(path, tenure_files.corpus_tensors(rows()["te/sd15_nai_clip_ckpt"]), short_by=1000)
    assert type(app.classify(path).config).__name__ == "Unknown_Config"
    tenure.install()
    try:
        result = app.classify(path)
    finally:
        tenure.uninstall()
    assert result.config is None
    assert len(result.invalid_matches) == 1
    assert "expected" in str(result.invalid_matches[0])


@needs_invokeai
def test_a_shard_alone_is_not_refused(under, tmp_path):
    """Its sisters are missing, which Tenure finds damaged; InvokeAI looks at the one file, and may go on so."""
    path = write(tmp_path / "model-00001-of-00002.safetensors", rows()["te/sd15_nai_clip_ckpt"])
    weights = {"a": path.name, "b": "model-00002-of-00002.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))
    assert tenure.probe(path)["state"] == "damaged"
    assert under.classify(path).config.base.value == "sd-1"


@needs_invokeai
def test_nothing_is_kept_of_a_file_when_its_result_is(under, tmp_path):
    """By counting references alone: no traceback is kept, and no cycle waits for the collector."""
    path = tmp_path / "strange.safetensors"
    tenure.save({f"thing.{i}": np.ones((256, 256), np.float32) for i in range(4)}, path)
    under.classify(path)
    gc.collect()
    gc.disable()
    try:
        descriptors = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
        kept = [under.classify(path) for _ in range(5)]
        if sys.platform == "linux":
            assert len(os.listdir("/proc/self/fd")) == descriptors
            assert str(path) not in Path("/proc/self/maps").read_text()
    finally:
        gc.enable()
    refusals = [r for result in kept for r in result.details.values() if isinstance(r, BaseException)]
    assert len(refusals) > 100
    assert all(r.__traceback__ is None and r.__cause__ is None and r.__context__ is None for r in refusals)
    assert all(str(r) for r in refusals)


@needs_invokeai
def test_a_file_that_memory_does_not_suffice_for_is_an_error_not_unknown(under, tmp_path, monkeypatch):
    module = sys.modules["invokeai.backend.model_manager.model_on_disk"]
    path = tmp_path / "strange.safetensors"
    tenure.save({"thing": np.ones(3, np.float32)}, path)

    def refuse(*_):
        raise tenure.MemoryRefused("no room")

    monkeypatch.setattr(module.ModelOnDisk, "load_state_dict", refuse)
    with pytest.raises(MemoryError):
        under.classify(path)


@needs_invokeai
def test_hashes_are_invokeais(app, tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(os.urandom(3 << 20))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.safetensors").write_bytes(b"a" * 100)
    (folder / "b.bin").write_bytes(b"b" * 100)
    algorithms = ("blake3_single", "blake3_multi", "sha256", "md5")
    expected = [app.ModelHash(a).hash(p) for a in algorithms for p in (path, folder)]
    assert expected[4] == "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    tenure.install()
    try:
        before = tenure.memory()["read"]
        found = [app.ModelHash(a).hash(p) for a in algorithms for p in (path, folder)]
        assert tenure.memory()["read"] - before >= 3 * (3 << 20)
    finally:
        tenure.uninstall()
    assert found == expected


@needs_invokeai
def test_a_failed_job_keeps_its_words_alone(under, tmp_path):
    from invokeai.app.services.model_install.model_install_common import LocalModelSource, ModelRecordChanges

    job = under.ModelInstallJob(
        id=1, source=LocalModelSource(path=tmp_path), config_in=ModelRecordChanges(), local_path=tmp_path
    )
    try:
        raise ValueError("what went wrong")
    except ValueError as error:
        job.set_error(error)
        held = error
    assert job.errored
    assert "what went wrong" in job.error
    assert "raise ValueError" in job.error_traceback
    assert job.error_type == "ValueError"
    assert held.__traceback__ is None


@needs_invokeai
@pytest.mark.parametrize("way", ["install", "run"])
def test_it_is_installed_when_invokeai_is_imported_later(python, tmp_path, way):
    program = (
        "import invokeai.app.api.dependencies\n"
        "from invokeai.backend.model_manager.configs.base import Config_Base\n"
        "print('found', type(Config_Base.CONFIG_CLASSES).__module__)\n"
    )
    if way == "install":
        said = python("import tenure\ntenure.install()\n" + program, INVOKEAI_ROOT=str(tmp_path), timeout=300)
    else:
        (tmp_path / "program.py").write_text(program)
        said = python(
            "import subprocess, sys\n"
            "sys.exit(subprocess.run([sys.executable, '-m', 'tenure', 'run', '--', sys.argv[1]]).returncode)",
            tmp_path / "program.py",
            INVOKEAI_ROOT=str(tmp_path),
            timeout=300,
        )
    assert "found tenure.integrations.invokeai._classes" in said
    off = python(
        "import tenure\ntenure.install()\n" + program, INVOKEAI_ROOT=str(tmp_path), TENURE_DISABLE="1", timeout=300
    )
    assert "found builtins" in off


def test_an_unknown_version_is_left_alone_with_a_word(monkeypatch, caplog):
    pytest.importorskip("safetensors", reason="safetensors is not installed")
    monkeypatch.setattr(metadata, "version", lambda name: "7.0.0")
    try:
        assert integration.install() is False
        assert integration.install() is False
    finally:
        tenure.uninstall()
        integration.uninstall()
    said = [record.message for record in caplog.records if "InvokeAI" in record.message]
    assert said == ["InvokeAI 7.0.0 is not known to this Tenure, and is left as it is"]


def config_class(name, type_, base):
    """A class with the two fields by which the classes of InvokeAI are told apart."""
    fields = {"type": SimpleNamespace(default=SimpleNamespace(value=type_)),
              "base": SimpleNamespace(default=SimpleNamespace(value=base))}  # fmt: skip
    return type(name, (), {"model_fields": fields})


SD1, SDXL, LORA = (config_class(*c) for c in (("B", "main", "sd-1"), ("C", "main", "sdxl"), ("A", "lora", "sd-1")))


def answer(path, row):
    return tenure.probe(write(path, row))


@pytest.mark.parametrize(
    ("row", "overrides", "expected"),
    [
        ("te/sd15_nai_clip_ckpt", None, [SD1]),
        ("te/sd15_nai_clip_ckpt", {"name": "x", "base": None}, [SD1]),
        ("te/sd15_nai_clip_ckpt", {"base": "sdxl"}, None),
        ("native/segmind_vega_unet", {}, []),
        ("native/hunyuan3d_v2", {}, None),
    ],
)
def test_classes_are_chosen_by_invokeais_words(tmp_path, row, overrides, expected):
    candidates = Candidates({SD1, SDXL, LORA})
    found = candidates.choose(answer(tmp_path / "m.safetensors", rows()[row]), overrides)
    assert found == expected


def test_a_part_of_the_classes_is_seen_by_one_thread_for_a_while():
    from threading import Thread

    candidates = Candidates({SD1, SDXL})
    seen = []
    with candidates.only([SDXL]):
        assert list(candidates) == [SDXL]
        thread = Thread(target=lambda: seen.append(set(candidates)))
        thread.start()
        thread.join()
        candidates.add(LORA)
    assert seen == [{SD1, SDXL}]
    assert set(candidates) == {SD1, SDXL, LORA}

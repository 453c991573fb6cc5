"""What pyproject.toml cannot say: the version, which scripts/wheel writes into VERSION, and that one wheel serves every Python of a platform."""
import pathlib

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class PlatformWheel(bdist_wheel):

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class PlatformDistribution(Distribution):

    def has_ext_modules(self):
        return True


setup(version=pathlib.Path(__file__).with_name("VERSION").read_text().strip(), distclass=PlatformDistribution,
      cmdclass={"bdist_wheel": PlatformWheel})

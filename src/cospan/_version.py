"""The version, where every module can take it without the package above it."""

VERSION = "0.3.0.dev0"

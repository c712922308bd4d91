"""glTF and GLB files."""

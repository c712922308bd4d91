"""What the sections share: models, recordings, rivals, the report."""

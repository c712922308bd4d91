"""ASF skeletons and AMC motions."""

"""Recipes: training runs as files, from data to a model folder."""

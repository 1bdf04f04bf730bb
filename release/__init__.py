"""What a release consists of beside the code: `sbom` lists its parts and their licences."""

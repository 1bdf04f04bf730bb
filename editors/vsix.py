"""The VS Code folder as one file to install, a ``.vsix``: a zip with two lists in front.

In: the folder ``vscode``. Out: the file. Always holds: the same folder gives the same bytes; every
file of the folder is in it, with the licence; nothing is built and nothing asked over the network.
Costs milliseconds.

`code --install-extension FILE` takes it. The layout is that of ``vsce package``.
"""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sears_dsl.runtime.files import write_atomically

FOLDER = Path(__file__).parent / "vscode"
_LICENCE = Path(__file__).resolve().parents[1] / "LICENSE"
_KINDS = {
    ".json": "application/json",
    ".js": "application/javascript",
    ".md": "text/markdown",
    ".txt": "text/plain",
    ".vsixmanifest": "text/xml",
}
_TYPES = """\
<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{kinds}</Types>
"""
_MANIFEST = """\
<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id={name} Version={version} Publisher={publisher} />
    <DisplayName>{title}</DisplayName>
    <Description xml:space="preserve">{description}</Description>
    <Tags>{tags}</Tags>
    <Categories>{categories}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <License>extension/LICENSE.txt</License>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine} />
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace" />
      <Property Id="Microsoft.VisualStudio.Code.ExecutesCode" Value="true" />
    </Properties>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code" />
  </Installation>
  <Dependencies />
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" \
Addressable="true" />
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" \
Addressable="true" />
  </Assets>
</PackageManifest>
"""


def write(path: Path) -> None:
    """Write the extension.

    Args:
        path: a file that ends in ``.vsix``, which is how editors know it.

    Raises:
        DataError: it cannot be written.
    """
    package = json.loads((FOLDER / "package.json").read_text("utf-8"))
    languages = package["contributes"]["languages"]
    suffixes = [suffix.strip(".") for each in languages for suffix in each["extensions"]]
    tags = [*(each["id"] for each in languages), *(f"__ext_{suffix}" for suffix in suffixes)]
    manifest = _MANIFEST.format(
        name=quoteattr(package["name"]),
        version=quoteattr(package["version"]),
        publisher=quoteattr(package["publisher"]),
        engine=quoteattr(package["engines"]["vscode"]),
        title=escape(package["displayName"]),
        description=escape(package["description"]),
        tags=escape(",".join(tags)),
        categories=escape(",".join(package["categories"])),
    )
    files = {
        f"extension/{file.relative_to(FOLDER).as_posix()}": file.read_bytes()
        for file in sorted(FOLDER.rglob("*"))
        if file.is_file()
    }
    files["extension/LICENSE.txt"] = _LICENCE.read_bytes()
    endings = sorted({Path(name).suffix for name in files} | {".vsixmanifest"})
    kinds = "".join(
        f"<Default Extension={quoteattr(each)} ContentType={quoteattr(_KINDS[each])} />"
        for each in endings
    )
    written = BytesIO()
    with ZipFile(written, "w", ZIP_DEFLATED) as archive:
        for name, content in {
            "extension.vsixmanifest": manifest.encode(),
            "[Content_Types].xml": _TYPES.format(kinds=kinds).encode(),
            **files,
        }.items():
            # Without a time of its own: the first day that a zip knows.
            archive.writestr(ZipInfo(name), content, ZIP_DEFLATED)
    write_atomically(path, written.getvalue())

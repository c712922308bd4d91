"""Small files of meshes: STL, OBJ with MTL, COLLADA, VTP; and a robot that uses them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from exactik.model.visuals import make_box, make_sphere

__all__ = [
    "BOX",
    "DAE",
    "MJCF",
    "MTL",
    "OBJ",
    "URDF",
    "VTP",
    "make_lump",
    "write_lump",
    "write_stl",
]

BOX = make_box((1.0, 2.0, 3.0))


def write_stl(path: Path, text: bool = False) -> None:
    corners = BOX.vertices[BOX.faces]
    if text:
        rows = "".join(
            "facet normal 0 0 0\nouter loop\n"
            + "".join(f"vertex {x:g} {y:g} {z:g}\n" for x, y, z in face)
            + "endloop\nendfacet\n"
            for face in corners
        )
        path.write_text(f"solid box\n{rows}endsolid box\n")
        return
    data = b"solid, in spite of what it is".ljust(80) + struct.pack("<I", len(corners))
    for face in corners:
        data += struct.pack("<12fH", 0, 0, 0, *face.ravel(), 0)
    path.write_bytes(data)


def make_lump(seed: int = 0) -> np.ndarray:
    """Triangles, (n, 3, 3), of a closed surface that is not convex and has no symmetry [m]."""
    rng = np.random.default_rng(seed)
    sphere = make_sphere(1.0)
    waves = 1.0 + 0.6 * np.sin(sphere.vertices @ rng.normal(0.0, 3.0, (3, 2))).sum(axis=1)
    lump = sphere.vertices * waves[:, None] * rng.uniform(0.02, 0.1, 3) + rng.normal(0.0, 0.05, 3)
    return lump[sphere.faces]


def write_lump(path: Path, seed: int = 0) -> None:
    """Write a lump as binary STL, or as OBJ if the name ends so."""
    corners = make_lump(seed)
    if path.suffix.lower() == ".obj":
        vertices = "".join(f"v {x} {y} {z}\n" for x, y, z in corners.reshape(-1, 3).tolist())
        faces = (f"f {k} {k + 1} {k + 2}\n" for k in range(1, 3 * len(corners), 3))
        path.write_text(vertices + "".join(faces))
        return
    face = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    rows = np.zeros(len(corners), face)
    rows["corners"] = corners
    path.write_bytes(b"lump".ljust(80) + struct.pack("<I", len(rows)) + rows.tobytes())


OBJ = """
mtllib box.mtl
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
vt 0 0
vt 1 0
vt 1 1
vt 0 1
usemtl red
f 1/1 2/2 3/3 4/4
usemtl none
f -4 -3 -2
"""
MTL = "newmtl red\nKd 1 0 0\nd 0.5\nnewmtl painted\nKd 0 0 0\nmap_Kd box.png\n"
DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_images><image id="img"><init_from>box.png</init_from></image></library_images>
<library_effects>
<effect id="fx"><profile_COMMON><technique><phong><diffuse><color>0 1 0 1</color></diffuse></phong>
</technique></profile_COMMON></effect>
<effect id="ft"><profile_COMMON>
<newparam sid="surf"><surface type="2D"><init_from>img</init_from></surface></newparam>
<newparam sid="samp"><sampler2D><source>surf</source></sampler2D></newparam>
<technique><phong><diffuse><texture texture="samp"/></diffuse></phong></technique>
</profile_COMMON></effect>
</library_effects>
<library_materials>
<material id="green"><instance_effect url="#fx"/></material>
<material id="paint"><instance_effect url="#ft"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">0 0 0 100 0 0 100 100 0 0 100 0</float_array>
<technique_common><accessor source="#pa" count="4" stride="3"/></technique_common></source>
<source id="t"><float_array id="ta" count="8">0 0 1 0 1 1 0 1</float_array>
<technique_common><accessor source="#ta" count="4" stride="2"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist material="m" count="1"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="TEXCOORD" source="#t" offset="1"/>
<vcount>4</vcount><p>0 0 1 1 2 2 3 3</p></polylist>
<triangles material="n" count="1"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 1 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node>
<translate>0 0 50</translate><rotate>0 0 1 90</rotate>
<instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="m" target="#paint"/><instance_material symbol="n" target="#green"/>
</technique_common></bind_material></instance_geometry>
</node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""
VTP = """<?xml version="1.0"?>
<VTKFile type="PolyData"><PolyData><Piece NumberOfPoints="4" NumberOfPolys="1">
<PointData><DataArray Name="Normals" NumberOfComponents="3" format="ascii">0 0 1</DataArray>
</PointData>
<Points>
<DataArray NumberOfComponents="3" format="ascii">0 0 0 1 0 0 1 1 0 0 1 0</DataArray></Points>
<Polys><DataArray Name="connectivity" format="ascii">0 1 2 3</DataArray>
<DataArray Name="offsets" format="ascii">4</DataArray></Polys></Piece></PolyData></VTKFile>
"""

# Their meshes are in a folder beside, whose name is put in for {folder}.
URDF = """<robot name="r"><material name="red"><color rgba="1 0 0 0.5"/></material>
<link name="a"><visual name="body"><origin xyz="0 0 1" rpy="0 0 1.5"/>
<geometry>
<mesh filename="{folder}/own.stl" scale="2 2 2"/></geometry><material name="red"/></visual>
<visual><geometry><cylinder radius="0.1" length="1"/></geometry></visual></link>
<link name="b"><visual><geometry><box size="1 2 3"/></geometry>
<material name=""><color rgba="0 1 0 1"/></material></visual>
<visual><geometry><sphere radius="0.5"/></geometry></visual>
<visual><geometry><mesh filename="{folder}/absent.stl"/></geometry></visual></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1"/></joint></robot>
"""
MJCF = """<mujoco><compiler meshdir="{folder}" angle="radian"/>
<default><geom group="1" rgba="0 0 1 1"/><default class="c"><geom group="3"/></default></default>
<asset><mesh name="m" file="own.stl" scale="1 1 2"/><mesh file="absent.stl"/>
<material name="red" rgba="1 0 0 1"/></asset>
<worldbody><geom type="plane" size="1 1 1"/><body name="a"><joint/>
<geom type="mesh" mesh="m" material="red"/><geom class="c" type="box" size="1 1 1"/>
<geom type="capsule" fromto="0 0 0 0 0 1" size="0.1"/>
<frame pos="1 0 0"><geom type="box" size="0.5 1 1.5" pos="0 1 0"/></frame>
<body name="b" pos="0 0 1"><joint/><geom type="ellipsoid" size="1 2 3"/><geom size="0.5"/>
<geom type="cylinder" size="0.1 0.5"/><geom type="mesh" mesh="absent"/></body></body>
</worldbody></mujoco>
"""

// Lets the bones of a figure move the meshes of a GLB, which viser loads but cannot bend.
//
// A figure is sent as two things: a GLB whose root has extras {"exactik": {"figure": N}} and whose
// bones have {"exactik": {"bone": k}}, all children of the root; and a hidden batched mesh of as
// many instances, which is moved in one message, and whose first vertex is (SIGNATURE, N, n). Before
// every picture the matrices of the instances become those of the bones. three.js tells of its
// scenes by the hook that its developer tools use.
(() => {
  const SIGNATURE = 4544587;
  const AHEAD = 1e6; // [m] by which handles and gizmos are nearer to the pointer than they are
  const ON_TOP = 0.96; // opacity of batched meshes that are drawn before all else, such as handles
  const FLOOR_ORDER = -1000; // before all else that is translucent
  const hook = new EventTarget();
  window.__THREE_DEVTOOLS__ = hook;
  hook.addEventListener("observe", (event) => {
    const scene = event.detail;
    if (!scene.isScene) return;
    const before = scene.onBeforeRender;
    scene.onBeforeRender = function (...parts) {
      const depths = parts[0].state.buffers.depth.getReversed?.() ? "reversed" : "usual";
      drive(scene, parts[2], depths);
      before.apply(this, parts);
    };
  });

  function signatureOf(object) {
    const at = object.getMatrixAt && object.geometry?.attributes.position?.array;
    return at && at.length > 2 && at[0] === SIGNATURE ? at[1] : null;
  }

  // What is done once for a GLB: bones in order, its own normals, no box that culls moving skins.
  function prepare(root) {
    const bones = [], meshes = [];
    root.traverse((object) => {
      const k = object.userData.exactik?.bone;
      if (k !== undefined) {
        bones[k] = object;
        object.matrixAutoUpdate = false;
      }
      if (!object.isMesh) return;
      meshes.push(object);
      const { attributes } = object.geometry;
      if (attributes._normal) object.geometry.setAttribute("normal", attributes._normal);
      object.frustumCulled = false;
      if (object.isSkinnedMesh) {
        const sphere = object.geometry.boundingSphere.clone();
        sphere.radius = Infinity; // so that the pointer finds the skin wherever it is
        object.boundingSphere = sphere;
      }
    });
    return { bones, meshes, depths: [], opacity: 1, behind: 0 };
  }

  // What is drawn before all else, handles and gizmos inside a body, the pointer finds first too.
  function takePointer(object, shown = object) {
    if (object.exactikTakesPointer) return;
    object.exactikTakesPointer = true;
    const raycast = object.raycast;
    object.raycast = function (ray, hits) {
      const before = hits.length;
      if (isShown(shown)) raycast.call(this, ray, hits);
      for (let k = before; k < hits.length; k++) hits[k].distance -= AHEAD;
    };
  }

  // The arrows of a gizmo are taken by a cylinder around them that is not drawn.
  function isGrip(object) {
    return object.isMesh && !object.visible && object.geometry.type === "CylinderGeometry" &&
      object.parent.children.some((other) => other.material?.depthTest === false && !other.getMatrixAt);
  }

  function isShown(object) {
    for (let node = object; node; node = node.parent) if (!node.visible) return false;
    return true;
  }

  // Translucent figures, ghosts, are behind all that is solid, or a figure among them would be all
  // patches; and the second of them is behind the first, so that it is seen through that wherever
  // they are. So a ghost is as far as it is, times a power of two.
  function pushBack(material, times, depths) {
    const share = (1 / times).toFixed(8);
    const place = depths === "reversed" // from 1 near to 0 far; else from -1 to 1
      ? `gl_Position.z *= ${share};`
      : `gl_Position.z = gl_Position.w - ${share} * (gl_Position.w - gl_Position.z);`;
    material.onBeforeCompile = (shader) => {
      shader.vertexShader = shader.vertexShader.replace(
        "#include <project_vertex>", `#include <project_vertex>\n${times > 1 ? place : ""}`);
    };
    material.customProgramCacheKey = () => `exactik-${times}-${depths}`;
    material.needsUpdate = true;
  }

  function fade(figure, opacity, behind, depths) {
    if (figure.opacity === opacity && figure.behind === behind) return;
    Object.assign(figure, { opacity, behind });
    for (const mesh of figure.meshes) {
      const material = mesh.material;
      material.userData.opacity ??= { value: material.opacity, transparent: material.transparent };
      const own = material.userData.opacity;
      material.opacity = own.value * opacity;
      material.transparent = own.transparent || opacity < 1;
      material.depthWrite = !own.transparent; // else limbs behind limbs would shine through
      pushBack(material, 2 ** behind, depths);
      layDepth(figure, mesh, behind, depths, opacity < 1 && !own.transparent);
    }
  }

  // The depth of a translucent mesh is drawn before its colour. Its faces come in any order: else
  // some of those behind others would be drawn first and shine through, a speckle at each armpit.
  function layDepth(figure, mesh, behind, depths, wanted) {
    if (!mesh.exactikDepth && wanted) {
      const depth = (mesh.exactikDepth = mesh.clone(false));
      depth.material = mesh.material.clone();
      depth.material.colorWrite = false;
      depth.raycast = () => {};
      depth.frustumCulled = false;
      figure.depths.push(depth);
      mesh.parent.add(depth);
    }
    mesh.renderOrder = wanted ? -2 * behind : 0; // what is farther first, and before all else
    if (!mesh.exactikDepth) return;
    mesh.exactikDepth.visible = wanted;
    mesh.exactikDepth.renderOrder = mesh.renderOrder - 1;
    pushBack(mesh.exactikDepth.material, 2 ** behind, depths);
  }

  // The camera stays above the floor, however it is turned: a hair of its distance.
  function stayAbove(floor, camera) {
    const controls = window.__viserMutable?.cameraControl;
    if (!controls) return;
    const up = camera.up, at = camera.position.clone().setFromMatrixPosition(floor.matrixWorld);
    const target = controls.getTarget(camera.position.clone());
    const least = (at.sub(target).dot(up) + 0.02 * controls.distance) / controls.distance;
    const most = Math.acos(Math.min(Math.max(least, -1), 0.99));
    if (Math.abs(most - controls.maxPolarAngle) > 1e-3) controls.maxPolarAngle = most; // draws anew
  }

  // Lines of the floor are under all that is translucent, and hide none of it.
  function layFloor(floor) {
    floor.material.depthWrite = false;
    floor.renderOrder = FLOOR_ORDER;
  }

  // Handles are white: on white figures only their dark rim shows where they are.
  function drawRim(material) {
    if (material.userData.hasRim) return;
    material.userData.hasRim = true;
    material.onBeforeCompile = (shader) => {
      shader.fragmentShader = shader.fragmentShader.replace(
        "#include <opaque_fragment>",
        `#include <opaque_fragment>
        float facing = abs(dot(normalize(normal), normalize(vViewPosition)));
        gl_FragColor.rgb *= mix(0.2, 1.0, smoothstep(0.3, 0.5, facing));`,
      );
    };
    material.customProgramCacheKey = () => "exactik-rim";
    material.needsUpdate = true;
  }

  // Colours of the driver's instances are tints of the bones: white for none, else limits and such.
  function tint(figure, driver) {
    if (!driver.colorsTexture) return;
    const colours = figure.bones.map((_, k) => driver.getColorAt(k).clone());
    const key = colours.map((colour) => colour.getHex()).join();
    if (figure.tint === key) return;
    const untouched = figure.tint === undefined && colours.every((c) => c.getHex() === 0xffffff);
    figure.tint = key;
    if (untouched) return;
    for (const mesh of figure.meshes) {
      if (mesh.isSkinnedMesh) tintSkin(mesh, colours);
      else tintMesh(mesh, colours);
    }
  }

  function tintSkin(mesh, colours) {
    const { position, skinIndex, skinWeight, color } = mesh.geometry.attributes;
    mesh.userData.colours ??= color ? Array.from(color.array) : [];
    const own = mesh.userData.colours, size = own.length / position.count;
    const values = new Float32Array(3 * position.count);
    for (let n = 0; n < position.count; n++) {
      for (let k = 0; k < 4; k++) {
        const bone = mesh.skeleton.bones[skinIndex.getComponent(n, k)];
        const weight = skinWeight.getComponent(n, k), colour = colours[bone.userData.exactik.bone];
        values[3 * n] += weight * colour.r;
        values[3 * n + 1] += weight * colour.g;
        values[3 * n + 2] += weight * colour.b;
      }
      for (let a = 0; size > 0 && a < 3; a++) values[3 * n + a] *= own[size * n + a];
    }
    mesh.geometry.setAttribute("color", new position.constructor(values, 3));
    if (!mesh.material.vertexColors) {
      mesh.material.vertexColors = true;
      mesh.material.needsUpdate = true;
    }
  }

  function tintMesh(mesh, colours) {
    let bone = mesh;
    while (bone.userData.exactik?.bone === undefined) bone = bone.parent;
    if (!mesh.userData.colour) {
      mesh.material = mesh.material.clone(); // others may share it
      mesh.userData.colour = mesh.material.color.clone();
    }
    mesh.material.color.copy(mesh.userData.colour).multiply(colours[bone.userData.exactik.bone]);
  }

  function drive(scene, camera, depths) {
    const drivers = new Map(), roots = [], meshes = [], labels = [];
    scene.traverse((object) => {
      const figure = object.userData?.exactik?.figure;
      if (figure !== undefined) roots.push(object);
      const signature = signatureOf(object);
      if (signature !== null) drivers.set(signature, object);
      if (object.isMesh) meshes.push(object);
      const onTop = Math.abs((object.material?.opacity ?? 1) - ON_TOP) < 1e-6;
      if (object.getMatrixAt && onTop) {
        object.material.depthTest = false;
        object.renderOrder = 1000;
        drawRim(object.material);
      }
      const uniforms = object.material?.uniforms;
      if (uniforms?.fadeDistance) {
        layFloor(object);
        stayAbove(object, camera);
      }
      if (uniforms?.uLabelData) labels.push(object);
      if (object.material?.depthTest === false) takePointer(object);
      else if (isGrip(object)) takePointer(object, object.parent);
      else if (object.getMatrixAt) {
        // What is hidden, such as sticks inside a skin, must not catch the pointer.
        if (isShown(object)) delete object.raycast;
        else object.raycast = () => {};
      }
    });
    for (const mesh of labels) window.exactikLabels?.(mesh, camera, drivers);
    if (roots.length === 0) return;
    const shapes = new Set(), own = new Set();
    let behind = 0;
    roots.sort((one, other) => one.userData.exactik.figure - other.userData.exactik.figure);
    for (const root of roots) {
      root.exactik ??= prepare(root);
      const figure = root.exactik;
      for (const mesh of figure.meshes) {
        shapes.add(mesh.geometry);
        own.add(mesh);
      }
      const driver = drivers.get(root.userData.exactik.figure);
      if (!driver || driver.instancesCount !== figure.bones.length) continue;
      figure.bones.forEach((bone, k) => bone.matrix.copy(driver.getMatrixAt(k)));
      root.updateMatrixWorld(true);
      tint(figure, driver);
      const { opacity } = driver.material;
      fade(figure, opacity, opacity < 1 ? ++behind : 0, depths);
      for (const mesh of figure.depths) own.add(mesh);
    }
    // viser outlines what the pointer is over as it was loaded, not as it is bent.
    for (const mesh of meshes) {
      if (!shapes.has(mesh.geometry) || own.has(mesh)) continue;
      mesh.visible = false;
      mesh.raycast = () => {};
    }
  }
})();

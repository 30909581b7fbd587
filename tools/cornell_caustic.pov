// The demo scene (scenes/cornell_caustic.json) for POV-Ray 3.7, for comparisons of time. The light
// transport differs: POV-Ray's photons are only caustics; its indirect light comes from radiosity,
// which is off here. With Declare=Triangles=1 the balls are the meshes of balls.inc, with as many
// triangles as Kandela's.
#version 3.7;
#ifndef (Triangles) #declare Triangles = 0; #end
global_settings {
  assumed_gamma 1.0
  max_trace_level 32
  photons { count PhotonCount gather 20, 100 }
}
#declare White = texture { pigment { rgb <0.74, 0.72, 0.68> } finish { ambient 0 diffuse 1 } }
#declare Red = texture { pigment { rgb <0.63, 0.065, 0.05> } finish { ambient 0 diffuse 1 } }
#declare Green = texture { pigment { rgb <0.12, 0.42, 0.12> } finish { ambient 0 diffuse 1 } }
camera { location <0, 1, -4.2> look_at <0, 1, 0> right x up y angle 35 }
light_source {
  <-0.425, 1.99, 0.225> rgb <1.1, 1, 0.85>
  area_light <0.45, 0, 0>, <0, 0, 0.45>, 4, 4 adaptive 1 jitter
  photons { reflection on refraction on }
}
polygon { 5, <-1, 0, -1>, <1, 0, -1>, <1, 0, 1>, <-1, 0, 1>, <-1, 0, -1> texture { White } }
polygon { 5, <-1, 2, -1>, <1, 2, -1>, <1, 2, 1>, <-1, 2, 1>, <-1, 2, -1> texture { White } }
polygon { 5, <-1, 0, 1>, <1, 0, 1>, <1, 2, 1>, <-1, 2, 1>, <-1, 0, 1> texture { White } }
polygon { 5, <-1, 0, -1>, <-1, 0, 1>, <-1, 2, 1>, <-1, 2, -1>, <-1, 0, -1> texture { Red } }
polygon { 5, <1, 0, -1>, <1, 0, 1>, <1, 2, 1>, <1, 2, -1>, <1, 0, -1> texture { Green } }
#declare Mirror = texture {
  pigment { rgb 0 } finish { ambient 0 diffuse 0 reflection { rgb <0.92, 0.93, 0.94> } }
}
#declare Glass = texture {
  pigment { rgbt 1 } finish { ambient 0 diffuse 0 reflection { 0, 1 fresnel } conserve_energy }
}
#if (Triangles)
  #include "balls.inc"
#else
  #declare MirrorBall = sphere { 0, 1 }
  #declare GlassBall = sphere { 0, 1 }
#end
object {
  MirrorBall scale 0.4 translate <-0.42, 0.4, 0.38>
  texture { Mirror }
  photons { target reflection on refraction off }
}
object {
  GlassBall scale 0.4 translate <0.4, 0.4, -0.28>
  texture { Glass }
  interior { ior 1.5 }
  photons { target reflection on refraction on }
}

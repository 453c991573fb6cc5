
Y
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:
>
ConstConst*
dtype0*!
valueB"=!:-õ>Ì[¾
=
BiasAddBiasAddx0Const*
T0*
data_formatNHWC
&
IdentityIdentityBiasAdd*
T0"ª